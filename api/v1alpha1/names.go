package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// Group is the API group of the custom resources, and the prefix of Numalet's annotations and
// labels.
const Group = "numalet.dev"

// Annotations and labels that a pod's author sets.
const (
	// AnnotationCPUPolicy requests exclusive CPUs by policy. The policy says how the CPUs of each
	// container are distributed over NUMA nodes: spread (evenly), single (all on one NUMA node) or
	// random (on any NUMA nodes).
	AnnotationCPUPolicy = Group + "/cpu-policy"
	// AnnotationSharedContainers lists the names of containers, separated by commas. These containers
	// use shared CPUs even if their cpu limit is an integer. In a pod with a CPU policy, all other
	// containers with an integer cpu limit get exclusive CPUs.
	AnnotationSharedContainers = Group + "/shared-containers"
	// AnnotationMemoryPolicy is "local" to bind the memory of containers to the NUMA node of their
	// CPUs, or "any" not to bind it. The default is "local" if the CPU policy is "single", and
	// "any" otherwise.
	AnnotationMemoryPolicy = Group + "/memory-policy"
	// AnnotationIsolation is "full" or "load-balanced". With either value, the agent keeps not only
	// other containers off the pod's exclusive CPUs, but also interrupts, unbound workqueues and,
	// from Linux 6.7, all processes outside of the pod's containers. With "full", the kernel does not
	// balance the threads of a container over its CPUs. The agent of the node must be installed with
	// the component deploy/isolation, or the chart's setting isolation of a pool.
	AnnotationIsolation = Group + "/isolation"
	// AnnotationGPUType names the GPU models that the pod accepts. Several models are separated by
	// "|".
	AnnotationGPUType = Group + "/gpu-type"
	// AnnotationGPUForm is "physical" for whole GPUs, or "virtual" for parts of GPUs. The annotation
	// does not choose the resource: it must agree with the resource in the limits of the pod, and can
	// be left out.
	AnnotationGPUForm = Group + "/gpu-form"
	// AnnotationGPUGroup names the GPU group that provides the GPUs. A GPU group (GPUGroup) is a set
	// of GPUs that only containers of certain tenants may use. If the author of the pod does not set
	// the annotation, the controller chooses a group and sets it.
	AnnotationGPUGroup = Group + "/gpu-group"
	// AnnotationCandidateNodes lists the names of the nodes on which the pod may run, separated by
	// commas. It can list at most 4,096 nodes.
	AnnotationCandidateNodes = Group + "/candidate-nodes"
	// LabelTenant names the tenant of a Job or a pod. Without it, a pod belongs to the tenant of
	// its Namespace: the value of this label on the Namespace, or else the Namespace's name. To
	// name another tenant, a user needs permission for the RBAC verb "use" on that Tenant.
	LabelTenant = Group + "/tenant"
	// LabelGang names the pod's gang: the pods of one namespace that start together. In the pods
	// of a Job with a minAvailable above 1, its value is the name of the Job.
	LabelGang = Group + "/gang"
	// AnnotationGangMinAvailable is the number of pods of the gang that start together or not at
	// all: a whole number, 1 or more. Pods of the gang that are already bound count, too. Succeeded
	// pods of a Job do not start again. So the controller subtracts the number of succeeded pods
	// from the value of the annotation, in the pods of the Job that are not bound yet. The value
	// stays at least 1.
	AnnotationGangMinAvailable = Group + "/gang-min-available"
)

// Annotations and labels that Numalet sets.
const (
	// AnnotationPlacement is the controller's decision for the containers of the pod: how many CPUs
	// of each NUMA node each of them gets, and which GPUs. The controller writes the annotation
	// together with the Binding of the pod.
	AnnotationPlacement = Group + "/placement"
	// AnnotationRejectedAt is the time (RFC 3339) at which an agent ended the pod, because the node
	// of the agent cannot honour the placement of the pod.
	AnnotationRejectedAt = Group + "/rejected-at"
	// ReasonPlacementRejected is the reason in the status and in the event of a pod that an agent
	// ended because the node of the agent cannot honour the placement of the pod.
	ReasonPlacementRejected = "NumaletPlacementRejected"
	// LabelJob names the Job to which a pod, a Service or a ConfigMap belongs.
	LabelJob = Group + "/job"
	// LabelJobIndex is the index of the pod in its Job, from 0.
	LabelJobIndex = Group + "/job-index"
	// LabelJobAttempt is the number of earlier pods of the Job that had the same index and failed.
	LabelJobAttempt = Group + "/job-attempt"
	// LabelJobUnstarted is the number of the latest pods of the Job with the same index, one after
	// the other, that were evicted or refused by their node before a container of them started.
	LabelJobUnstarted = Group + "/job-unstarted"
	// AnnotationAuthor names the user who created a GPUGroup or last changed its spec.
	AnnotationAuthor = Group + "/author"
	// AnnotationAuthorGroups lists the user groups of the user in the annotation
	// numalet.dev/author, one per line.
	AnnotationAuthorGroups = Group + "/author-groups"
	// LabelExclusiveCPUs is "true" on a node whose agent assigns exclusive CPUs.
	LabelExclusiveCPUs = Group + "/exclusive-cpus"
	// TaintAgentNotReady is the key of a startup taint: a taint that a kubelet or an autoscaler
	// sets when it registers a node. The agent removes the taint when it is ready to pin
	// containers to CPUs. The agent never sets it.
	TaintAgentNotReady = Group + "/agent-not-ready"
	// allocatedPrefix is the prefix of container annotations that list the IDs of the devices that
	// the container got. The device plugin returns these annotations from Allocate, and the agent
	// reads them in NRI's CreateContainer. The device plugin advertises as many devices per NUMA
	// node as the NUMA node has CPUs. Such a device is called a token: it stands for any one
	// exclusive CPU of the NUMA node.
	allocatedPrefix = "allocated." + Group + "/"
)

// Labels that an administrator sets on Namespaces, besides the label of the tenant.
const (
	// LabelEnforcement is "advisory" on a Namespace whose pods are allowed to get GPUs and
	// exclusive CPUs without the controller: by another scheduler, by spec.nodeName or by a
	// ResourceClaim.
	LabelEnforcement = Group + "/enforcement"
	// LabelSystem marks the Namespace in which Numalet is installed, and others whose pods must start
	// before the agent. The policies of deploy/admission allow the annotation
	// tolerate-missing-nri-plugins.noderesource.dev, with which pods start before the agent, only in
	// these Namespaces and in kube-system. The controller creates no pods of Jobs there.
	LabelSystem = Group + "/system"
)

// Reasons of events. The names are those that kube-scheduler and the Job controller of Kubernetes
// use.
const (
	EventScheduled        = "Scheduled"
	EventFailedScheduling = "FailedScheduling"
	EventFailedCreate     = "FailedCreate"
)

// EnvGPUs is the environment variable with the GPUs and slices that NVIDIA's container
// runtime makes visible in a container: UUIDs, separated by commas.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
const EnvGPUs = "NVIDIA_VISIBLE_DEVICES"

// The verb and the resource of an RBAC role that gives a tenant a right to GPUs. Permission for the
// verb "use" on the NodeTopology of a node gives the right to all GPUs of the node. Permission for
// the verb "use" on the resource "gpus", with UUIDs of GPUs as resourceNames, gives the right to
// these GPUs. The resource "gpus" exists only in RBAC rules: there are no objects of it.
const (
	VerbUse      = "use"
	ResourceGPUs = "gpus"
)

// TenantSubject returns the user group that represents a tenant in role bindings, such as
// "numalet.dev:tenant:ann" for the tenant ann.
func TenantSubject(tenant string) string { return Group + ":tenant:" + tenant }

// NUMAResource returns the name of the extended resource of a NUMA node's exclusive CPUs, such as
// "numalet.dev/numa1-cpu" for NUMA node 1.
func NUMAResource(node topology.NodeID) string { return fmt.Sprintf("%s/numa%d-cpu", Group, node) }

// ParseNUMAResource returns the NUMA node in a name that NUMAResource has returned. ok is false
// for any other name.
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

// AllocatedAnnotation returns the name of the container annotation in which the device plugin
// lists the exclusive CPUs that the kubelet allocated from a NUMA node, such as
// "allocated.numalet.dev/numa1-cpu". The value of the annotation is the IDs of the allocated
// devices, separated by commas.
func AllocatedAnnotation(node topology.NodeID) string {
	return fmt.Sprintf("%snuma%d-cpu", allocatedPrefix, node)
}

// AllocatedGPUs returns the name of the container annotation in which the device plugin lists the
// allocated devices of a GPU resource, such as "allocated.numalet.dev/gpu" for nvidia.com/gpu. The
// value of the annotation is the IDs of these devices, separated by commas.
func AllocatedGPUs(resource string) string {
	return allocatedPrefix + resource[strings.IndexByte(resource, '/')+1:]
}

// GPUShareSeparator is part of the ID of each device that stands for a share of a GPU (the resource
// nvidia.com/gpu.shared), such as "GPU-5a…::0". It separates the UUID of the GPU from a number.
// NVIDIA's device plugin uses the same IDs.
const GPUShareSeparator = "::"

// GPUOf returns the UUID of the GPU or slice to which a device ID belongs.
func GPUOf(device string) string {
	uuid, _, _ := strings.Cut(device, GPUShareSeparator)
	return uuid
}

// ParseAllocatedGPUs returns the IDs of all allocated GPU devices in the annotations of a
// container, in no particular order.
func ParseAllocatedGPUs(annotations map[string]string) (ids []string) {
	for key, list := range annotations {
		name, ok := strings.CutPrefix(key, allocatedPrefix)
		if _, isNUMA := ParseNUMAResource(Group + "/" + name); ok && !isNUMA && list != "" {
			ids = append(ids, strings.Split(list, ",")...)
		}
	}
	return ids
}

// ParseAllocated reads from the annotations of a container how many exclusive CPUs of each NUMA
// node the kubelet allocated to the container. The result is empty if the container has no limits
// numalet.dev/numa<ID>-cpu.
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
