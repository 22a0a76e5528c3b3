package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// Group is the API group, and the prefix of every name below.
const Group = "numalet.dev"

// Annotations and labels that a pod's author sets.
const (
	// AnnotationCPUPolicy requests exclusive CPUs by policy: spread, single or random.
	AnnotationCPUPolicy = Group + "/cpu-policy"
	// AnnotationSharedContainers names containers (comma separated) that use shared CPUs
	// although their cpu limit is an integer.
	AnnotationSharedContainers = Group + "/shared-containers"
	// AnnotationMemoryPolicy is "local" (default with single: memory on the
	// NUMA node of the CPUs) or "any" (the opt-out).
	AnnotationMemoryPolicy = Group + "/memory-policy"
	// AnnotationIsolation is "full": the agent also keeps interrupts and unbound workqueues of
	// the kernel off the exclusive CPUs. The node must be prepared for this (deploy/isolation).
	AnnotationIsolation = Group + "/isolation"
	// AnnotationGPUType names the GPU models that the pod accepts, several as A|B.
	AnnotationGPUType = Group + "/gpu-type"
	// AnnotationGPUForm is physical for whole GPUs or virtual for parts of them.
	AnnotationGPUForm = Group + "/gpu-form"
	// AnnotationGPUGroup names the GPU group that provides the GPUs. If the author names none,
	// the controller sets it to the group that it chose.
	AnnotationGPUGroup = Group + "/gpu-group"
	// AnnotationCandidateNodes lists the nodes on which the pod may run, at most 4,096.
	AnnotationCandidateNodes = Group + "/candidate-nodes"
	// LabelTenant names the tenant of a Job or a pod. Without it, a pod belongs to the tenant
	// of its Namespace: the value of the same label there, else the Namespace's name. To name
	// another tenant, a user needs the verb use on it.
	LabelTenant = Group + "/tenant"
	// LabelGang names the pod's gang in its namespace. A Job with a minAvailable sets it to the
	// job's name.
	LabelGang = Group + "/gang"
	// AnnotationGangMinAvailable is the number of pods of the gang that start together or not
	// at all, including bound pods: a whole number, 2 or more. In a replacement pod of a Job,
	// the number is smaller by the pods that have succeeded.
	AnnotationGangMinAvailable = Group + "/gang-min-available"
)

// Annotations and labels that Numalet sets.
const (
	// AnnotationPlacement is the controller's decision, written with the Binding.
	AnnotationPlacement = Group + "/placement"
	// AnnotationRejectedAt is the time (RFC 3339) at which an agent ended the pod, because its
	// node cannot honour the placement.
	AnnotationRejectedAt = Group + "/rejected-at"
	// ReasonPlacementRejected is the reason in the status and in the event of a pod that an agent
	// ended because its node cannot honour the placement.
	ReasonPlacementRejected = "NumaletPlacementRejected"
	// LabelJob names the Job to which a pod, a Service or a ConfigMap belongs.
	LabelJob = Group + "/job"
	// LabelJobIndex is the index of the pod in its Job, from 0.
	LabelJobIndex = Group + "/job-index"
	// LabelJobAttempt is the number of pods with this index that failed before this one.
	LabelJobAttempt = Group + "/job-attempt"
	// AnnotationAuthor names the user who wrote the spec of a GPUGroup.
	AnnotationAuthor = Group + "/author"
	// AnnotationAuthorGroups lists the groups of that user, one a line.
	AnnotationAuthorGroups = Group + "/author-groups"
	// LabelExclusiveCPUs marks a node whose agent assigns exclusive CPUs ("true").
	LabelExclusiveCPUs = Group + "/exclusive-cpus"
	// TaintAgentNotReady is the key of a startup taint, with which kubelets or autoscalers register
	// nodes. The agent removes it when it is ready to pin, and never sets it.
	TaintAgentNotReady = Group + "/agent-not-ready"
	// allocatedPrefix starts the container annotations that the device plugin's Allocate returns and
	// that the agent reads in CreateContainer. They say exactly which device tokens a container got.
	allocatedPrefix = "allocated." + Group + "/"
)

// Labels that an administrator sets on Namespaces, besides the label of the tenant.
const (
	// LabelEnforcement is "advisory" on a Namespace whose pods may use other schedulers,
	// nodeName and claims for GPUs and exclusive CPUs.
	LabelEnforcement = Group + "/enforcement"
	// LabelSystem marks the Namespace of Numalet, whose pods may start before the agent.
	LabelSystem = Group + "/system"
)

// Reasons of events, as kube-scheduler and the Job controller name theirs.
const (
	EventScheduled        = "Scheduled"
	EventFailedScheduling = "FailedScheduling"
	EventFailedCreate     = "FailedCreate"
)

// EnvGPUs is the environment variable with the GPUs and slices that NVIDIA's container
// runtime makes visible in a container: UUIDs, separated by commas.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
const EnvGPUs = "NVIDIA_VISIBLE_DEVICES"

// What a role names to give a tenant a right to GPUs: the verb use on the
// NodeTopology of a node, for all of its GPUs, or on gpus by the UUIDs of GPUs.
// There are no objects of the resource gpus.
const (
	VerbUse      = "use"
	ResourceGPUs = "gpus"
)

// TenantSubject returns the group that represents a tenant in role bindings:
// "numalet.dev:tenant:ann".
func TenantSubject(tenant string) string { return Group + ":tenant:" + tenant }

// NUMAResource returns the extended resource of a NUMA node's exclusive CPUs:
// "numalet.dev/numa1-cpu" for node 1.
func NUMAResource(node topology.NodeID) string { return fmt.Sprintf("%s/numa%d-cpu", Group, node) }

// ParseNUMAResource is the inverse of NUMAResource. ok is false for any other name.
func ParseNUMAResource(name string) (node topology.NodeID, ok bool) {
	s, ok := strings.CutPrefix(name, Group+"/numa")
	if !ok {
		return 0, false
	}
	s, ok = strings.CutSuffix(s, "-cpu")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	node = topology.NodeID(n)
	if err != nil || n < 0 || NUMAResource(node) != name {
		return 0, false
	}
	return node, true
}

// AllocatedAnnotation returns the annotation of a container in which Allocate lists the
// tokens of a NUMA node: "allocated.numalet.dev/numa1-cpu". Its value is the IDs,
// separated by commas.
func AllocatedAnnotation(node topology.NodeID) string {
	return fmt.Sprintf("%snuma%d-cpu", allocatedPrefix, node)
}

// AllocatedGPUs returns the annotation of a container in which Allocate lists the
// devices of a GPU resource: "allocated.numalet.dev/gpu" for nvidia.com/gpu. Its value
// is the IDs, separated by commas.
func AllocatedGPUs(resource string) string {
	return allocatedPrefix + resource[strings.IndexByte(resource, '/')+1:]
}

// GPUShareSeparator separates a GPU's UUID and the number of a share in a device ID:
// "GPU-5a…::0", as in NVIDIA's device plugin.
const GPUShareSeparator = "::"

// GPUOf returns the UUID of the GPU or slice to which a device ID belongs.
func GPUOf(device string) string {
	uuid, _, _ := strings.Cut(device, GPUShareSeparator)
	return uuid
}

// ParseAllocatedGPUs returns the IDs of all allocated GPU devices in the annotations of
// a container, in no order.
func ParseAllocatedGPUs(annotations map[string]string) (ids []string) {
	for key, list := range annotations {
		name, ok := strings.CutPrefix(key, allocatedPrefix)
		if _, isNUMA := ParseNUMAResource(Group + "/" + name); ok && !isNUMA && list != "" {
			ids = append(ids, strings.Split(list, ",")...)
		}
	}
	return ids
}

// ParseAllocated returns the number of allocated tokens per NUMA node in the annotations
// of a container. It is empty without an explicit request.
func ParseAllocated(annotations map[string]string) map[topology.NodeID]int {
	tokens := map[topology.NodeID]int{}
	for key, ids := range annotations {
		name, ok := strings.CutPrefix(key, allocatedPrefix)
		if !ok {
			continue
		}
		if node, ok := ParseNUMAResource(Group + "/" + name); ok && ids != "" {
			tokens[node] = strings.Count(ids, ",") + 1
		}
	}
	return tokens
}
