package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NodeTopology describes one node: its hardware by NUMA node, how much of it is available, and
// which containers hold exclusive CPUs. A NodeTopology has the same name as the Node object,
// which owns it. Only the agent on that node writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=nodetopologies,shortName=ntopo,categories=numalet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="NUMA",type=integer,JSONPath=`.status.machine.numaNodes`
// +kubebuilder:printcolumn:name="CPUs",type=integer,JSONPath=`.status.cpus.capacity`
// +kubebuilder:printcolumn:name="Allocatable",type=integer,JSONPath=`.status.cpus.allocatable`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.cpus.available`
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=`.status.machine.gpus`
// +kubebuilder:printcolumn:name="Reserved",type=string,priority=1,JSONPath=`.status.machine.reservedCPUs`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeTopology struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Status NodeTopologyStatus `json:"status,omitempty"`
}

// NodeTopologyList is a list of NodeTopology.
//
// +kubebuilder:object:root=true
type NodeTopologyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeTopology `json:"items"`
}

// NodeTopologyResource returns the group, version and plural name of NodeTopologies, for
// requests to the API server.
func NodeTopologyResource() schema.GroupVersionResource {
	return GroupVersion().WithResource("nodetopologies")
}

// ConditionReady of a NodeTopology is true while the node serves pods that request exclusive
// CPUs. The Node then has the label numalet.dev/exclusive-cpus. ConditionReady of a Tenant
// is true while the controller applies the spec of the Tenant.
const ConditionReady = "Ready"

// ConditionAllCPUsUsable of a NodeTopology is false while some online CPUs are not in the
// cpuset of the kubelet's cgroup for pods. No container can use these CPUs.
const ConditionAllCPUsUsable = "AllCPUsUsable"

// ConditionKubeletCompatible of a NodeTopology is false while settings of the kubelet
// conflict with Numalet.
const ConditionKubeletCompatible = "KubeletCompatible"

// ConditionCPUsReserved of a NodeTopology is false while no CPU is reserved. Containers without
// exclusive CPUs are created on the reserved CPUs, and the agent lets them run on all shared CPUs
// when they start. If no CPU is reserved, such a container is created on the CPUs that are shared
// at that time. Before it starts, some of these CPUs may become exclusive to another container. If
// the agent then ends before the container starts, the container starts on exclusive CPUs.
const ConditionCPUsReserved = "CPUsReserved"

// ConditionCPUsUndisturbed of a NodeTopology is false while interrupts, kernel threads and
// other processes use more of the time of exclusive CPUs than the agent is configured to
// allow.
const ConditionCPUsUndisturbed = "CPUsUndisturbed"

// ConditionGPUsHealthy of a NodeTopology is false while a GPU of the node is unhealthy. The
// NodeTopology of a node without GPUs does not have this condition.
const ConditionGPUsHealthy = "GPUsHealthy"

// NodeConditionGPUUnhealthy is the type of a condition of the Node. It says the same as the
// condition GPUsHealthy of the NodeTopology, for clients that read only Nodes. As usual for
// conditions of Nodes, such as DiskPressure, it is true while there is a problem. The prefix
// keeps it apart from conditions of other programs, such as node-problem-detector.
const NodeConditionGPUUnhealthy = "NumaletGPUUnhealthy"

// NodeTopologyStatus is the hardware that the agent discovered and the CPUs that it
// allocated. CPU lists are in the kernel's list format, such as "0-3,8". An online CPU that
// no container can use (see the condition AllCPUsUsable) counts as offline.
type NodeTopologyStatus struct {
	// Conditions has the conditions Ready, AllCPUsUsable, KubeletCompatible, CPUsReserved,
	// CPUsUndisturbed and GPUsHealthy of the node.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Machine is the hardware of the node and its configuration.
	// +optional
	Machine Machine `json:"machine"`
	// CPUs counts the logical CPUs of the whole node.
	// +optional
	CPUs CPUCounts `json:"cpus"`
	// NUMA lists all NUMA nodes, including those without CPUs, ordered by id.
	// +optional
	// +listType=map
	// +listMapKey=id
	NUMA []NUMANode `json:"numa,omitempty"`
	// Caches lists the online cores, grouped by the last-level cache that they share. The
	// groups are ordered by the smallest CPU number in each. If the cores of a cache are in
	// several packages or NUMA nodes, there is one group for each package and NUMA node.
	// +optional
	// +listType=atomic
	Caches []Cache `json:"caches,omitempty"`
	// GPUs lists the GPUs. A GPU in MIG mode is not listed: its slices are listed instead.
	// +optional
	// +listType=map
	// +listMapKey=id
	GPUs []GPU `json:"gpus,omitempty"`
	// GPUHolders lists the pods that hold GPUs or parts of GPUs, ordered by uid. It includes
	// pods that a scheduler other than the controller bound. It does not include GPUs that DRA
	// drivers allocated.
	// +optional
	// +listType=map
	// +listMapKey=uid
	GPUHolders []GPUHolder `json:"gpuHolders,omitempty"`
	// Pods lists the pods that hold exclusive CPUs, ordered by uid. These CPUs do not count as
	// available.
	// +optional
	// +listType=map
	// +listMapKey=uid
	Pods []PodCPUs `json:"pods,omitempty"`
}

// Machine is the hardware of the node and how its administrator configured it.
type Machine struct {
	// Packages is the number of CPU packages (sockets) with an online CPU.
	Packages int32 `json:"packages"`
	// NUMANodes is the number of NUMA nodes.
	NUMANodes int32 `json:"numaNodes"`
	// Cores is the number of physical cores with an online CPU.
	Cores int32 `json:"cores"`
	// ThreadsPerCore is the largest number of online hardware threads of a core.
	ThreadsPerCore int32 `json:"threadsPerCore"`
	// GPUs is the number of physical GPUs.
	GPUs int32 `json:"gpus"`
	// GPUDriver is the version of the GPU driver.
	// +optional
	GPUDriver string `json:"gpuDriver,omitempty"`
	// CUDA is the newest version of CUDA that the driver supports.
	// +optional
	CUDA string `json:"cuda,omitempty"`
	// ReservedCPUs are the CPUs that never become exclusive. They are always shared.
	// +optional
	ReservedCPUs string `json:"reservedCPUs"`
	// FullCores means that CPUs are allocated as whole cores, so that no two pods share a
	// core.
	// +optional
	FullCores bool `json:"fullCores"`
}

// CPUCounts counts logical CPUs.
type CPUCounts struct {
	// Capacity is the number of online CPUs.
	Capacity int32 `json:"capacity"`
	// Allocatable is the number of online CPUs that are not reserved. If no two
	// pods may share a core (status.machine.fullCores), CPUs on the same core as a reserved CPU
	// do not count either. It is 0 if exclusive CPUs are disabled on the node.
	Allocatable int32 `json:"allocatable"`
	// Available is the number of allocatable CPUs that no pod holds. If no two pods may
	// share a core (status.machine.fullCores), only the CPUs of wholly free cores count. If no
	// CPU is reserved, the last free CPU of the node (with fullCores, the last free core) is not
	// allocated, so that containers without exclusive CPUs can run on it. This CPU or core
	// counts as available nevertheless.
	// +optional
	Available int32 `json:"available"`
}

// NUMANode is one NUMA node.
type NUMANode struct {
	// ID is the kernel's id of the NUMA node. Ids can have gaps.
	// +kubebuilder:validation:Minimum=0
	ID int32 `json:"id"`
	// CPUs are the online CPUs. Empty if the NUMA node has only memory.
	// +optional
	CPUs      string `json:"cpus"`
	CPUCounts `json:",inline"`
	// Memory is the total memory of the NUMA node.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// AllocatableMemory is the total amount of memory that all containers with exclusive CPUs of
	// this NUMA node can bind (annotation numalet.dev/memory-policy). Huge pages and the memory
	// that is reserved for the kernel and the kubelet do not count. Absent if the NUMA node has
	// no CPUs.
	// +optional
	AllocatableMemory *resource.Quantity `json:"allocatableMemory,omitempty"`
	// AvailableMemory is the part of allocatableMemory that new containers can still bind. Absent if
	// the NUMA node has no CPUs.
	// +optional
	AvailableMemory *resource.Quantity `json:"availableMemory,omitempty"`
	// Distances are the distances to all NUMA nodes, as reported by the firmware (ACPI
	// SLIT).
	// +optional
	// +listType=map
	// +listMapKey=id
	Distances []Distance `json:"distances,omitempty"`
}

// Cache lists the cores of one NUMA node that share a last-level cache.
type Cache struct {
	// ID is the smallest of the numbers of the CPUs that share the cache. Absent if the kernel
	// does not report the cache.
	// +optional
	ID *int32 `json:"id,omitempty"`
	// Package is the id of the CPU package (socket). Absent if it is unknown.
	// +optional
	Package *int32 `json:"package,omitempty"`
	// NUMA is the id of the NUMA node. Absent if the CPUs are in no NUMA node.
	// +optional
	NUMA *int32 `json:"numa,omitempty"`
	// Cores lists the CPUs of each core, such as "0,64" for a core with two hardware threads.
	// +listType=atomic
	Cores []string `json:"cores"`
}

// Distance is the distance from one NUMA node to another, or to itself.
type Distance struct {
	// ID is the id of the NUMA node to which the distance is measured.
	ID int32 `json:"id"`
	// Value is the distance: 10 is local, 255 is unreachable.
	Value int32 `json:"value"`
}

// GPU is a physical GPU, or a part of a physical GPU that is allocated separately.
type GPU struct {
	// ID is the UUID of the GPU, as containers and monitoring see it.
	// +kubebuilder:validation:MinLength=1
	ID string `json:"id"`
	// Index is the index of the physical GPU in NVIDIA's tools.
	Index int32 `json:"index"`
	// Model is the product name of the GPU.
	Model string `json:"model"`
	// Type is the name of the model in node labels, in quotas and in the annotation
	// numalet.dev/gpu-type. The type of a MIG slice ends with its profile.
	// +optional
	Type string `json:"type,omitempty"`
	// Parent is the ID of the physical GPU of which this GPU is a part. Absent for physical
	// GPUs.
	// +optional
	Parent string `json:"parent,omitempty"`
	// Form is physical for a whole GPU and virtual for a part of a GPU.
	// +kubebuilder:validation:Enum=physical;virtual
	Form string `json:"form"`
	// Memory is the size of the memory of the GPU, or of the part of a GPU.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// BusID is the PCI address of the physical GPU.
	// +optional
	BusID string `json:"busID,omitempty"`
	// NUMA is the id of the NUMA node nearest to the GPU. Absent if it is unknown.
	// +optional
	NUMA *int32 `json:"numa,omitempty"`
	// Links are the connections to all GPUs of the node, in the order of the GPUs' indexes.
	// The notation is that of "nvidia-smi topo -m": NV12, PIX, PXB, PHB, NODE or SYS. "-" stands
	// for the GPU itself, and "?" for an unknown connection. Absent if no connection is
	// known, and for parts of GPUs.
	// +optional
	// +listType=atomic
	Links []string `json:"links,omitempty"`
	// Health is the state of the GPU. Unhealthy GPUs are not allocated.
	// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
	Health string `json:"health"`
	// Message explains why the GPU is not healthy or its health is unknown, and what to
	// do.
	// +optional
	Message string `json:"message,omitempty"`
}

// GPUHolder is a pod that holds GPUs.
type GPUHolder struct {
	// UID is the UID that the kubelet uses for the pod. For a static pod, it comes from an
	// annotation of the pod, which users can set, so two pods can seem to have the same UID. UID is
	// NAMESPACE/NAME if another pod in the list has the same UID, or if the API server does not have
	// the pod.
	// +kubebuilder:validation:MinLength=1
	UID string `json:"uid"`
	// Namespace is the namespace of the pod.
	Namespace string `json:"namespace"`
	// Name is the name of the pod.
	Name string `json:"name"`
	// Devices are the IDs of the GPU devices that the kubelet gave the pod's containers, in
	// ascending order. An ID is the UUID of a GPU or MIG slice, or UUID::NUMBER for a share
	// of a GPU.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	Devices []string `json:"devices"`
}

// PodCPUs lists the exclusive CPUs of one pod.
type PodCPUs struct {
	// UID is the UID of the pod.
	// +kubebuilder:validation:MinLength=1
	UID string `json:"uid"`
	// Namespace is the namespace of the pod.
	Namespace string `json:"namespace"`
	// Name is the name of the pod.
	Name string `json:"name"`
	// Containers lists the containers of the pod that have exclusive CPUs.
	// +listType=map
	// +listMapKey=name
	Containers []ContainerCPUs `json:"containers"`
}

// ContainerCPUs lists the exclusive CPUs of one container. Containers of one pod that
// never run at the same time can have the same CPUs.
type ContainerCPUs struct {
	// Name is the name of the container.
	Name string `json:"name"`
	// CPUs are the CPUs of the container.
	CPUs string `json:"cpus"`
}
