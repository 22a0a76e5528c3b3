package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NodeTopology is what one node has and what of it is free, NUMA node by NUMA
// node, and which containers hold the rest. It is named after its Node, is owned
// by it, and is written by the agent that runs there; nobody else writes it.
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

// NodeTopologyResource names the custom resource in requests.
func NodeTopologyResource() schema.GroupVersionResource {
	return GroupVersion().WithResource("nodetopologies")
}

// ConditionReady is true, of a NodeTopology, while pods that ask for exclusive CPUs
// are served on the node, which is when it carries the label
// numalet.dev/exclusive-cpus; of a Tenant, while its spec is in force.
const ConditionReady = "Ready"

// ConditionAllCPUsUsable is false, of a NodeTopology, while the kubelet's cgroup lacks
// online CPUs, which no container can then use.
const ConditionAllCPUsUsable = "AllCPUsUsable"

// ConditionKubeletCompatible is false, of a NodeTopology, while the kubelet's settings
// conflict with Numalet.
const ConditionKubeletCompatible = "KubeletCompatible"

// ConditionCPUsReserved is false, of a NodeTopology, while no CPU is reserved: then a
// shared container can start on exclusive CPUs while the agent is away.
const ConditionCPUsReserved = "CPUsReserved"

// NodeTopologyStatus is what the agent found and what it gave. CPU lists are in
// the kernel's list format, such as "0-3,8".
type NodeTopologyStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// +optional
	Machine Machine `json:"machine"`
	// CPUs sums up the NUMA nodes.
	// +optional
	CPUs CPUCounts `json:"cpus"`
	// NUMA has every NUMA node, those with memory only too, ordered by id.
	// +optional
	// +listType=map
	// +listMapKey=id
	NUMA []NUMANode `json:"numa,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=id
	GPUs []GPU `json:"gpus,omitempty"`
	// GPUHolders has the pods that hold GPUs or parts of them, ordered by uid, whichever
	// scheduler bound them. GPUs that other device plugins or DRA drivers allocated are
	// not in it.
	// +optional
	// +listType=map
	// +listMapKey=uid
	GPUHolders []GPUHolder `json:"gpuHolders,omitempty"`
	// Pods has the pods that hold exclusive CPUs, ordered by uid. What is
	// available does not contain what they hold.
	// +optional
	// +listType=map
	// +listMapKey=uid
	Pods []PodCPUs `json:"pods,omitempty"`
}

// Machine is the shape of the computer and what its administrator decided.
type Machine struct {
	Packages  int32 `json:"packages"`
	NUMANodes int32 `json:"numaNodes"`
	Cores     int32 `json:"cores"`
	// ThreadsPerCore is that of the widest core.
	ThreadsPerCore int32 `json:"threadsPerCore"`
	// GPUs are the cards.
	GPUs int32 `json:"gpus"`
	// GPUDriver is the version of the driver, and CUDA the newest that it serves.
	// +optional
	GPUDriver string `json:"gpuDriver,omitempty"`
	// +optional
	CUDA string `json:"cuda,omitempty"`
	// ReservedCPUs are never exclusive; they are always shared.
	// +optional
	ReservedCPUs string `json:"reservedCPUs"`
	// FullCores says that no two pods share a core: CPUs are taken in whole cores.
	// +optional
	FullCores bool `json:"fullCores"`
}

// CPUCounts are logical CPUs that are online.
type CPUCounts struct {
	Capacity int32 `json:"capacity"`
	// Allocatable is the capacity less reserved CPUs.
	Allocatable int32 `json:"allocatable"`
	// Available is what can still become exclusive. One of them stays shared
	// where no CPU is reserved.
	// +optional
	Available int32 `json:"available"`
}

// NUMANode is one NUMA node.
type NUMANode struct {
	// ID is the kernel's: sparse, never an index.
	// +kubebuilder:validation:Minimum=0
	ID int32 `json:"id"`
	// CPUs are those online; none on a node with memory only.
	// +optional
	CPUs      string `json:"cpus"`
	CPUCounts `json:",inline"`
	// Memory is all that the NUMA node has.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// AllocatableMemory is what containers on this node's CPUs may bind if none does
	// yet: memory without huge pages and without what the kernel and the kubelet reserve.
	// +optional
	AllocatableMemory *resource.Quantity `json:"allocatableMemory,omitempty"`
	// AvailableMemory is what containers on this node's CPUs may still bind, in
	// the memory nearest to them and outside pools of huge pages. Absent where
	// there are no CPUs.
	// +optional
	AvailableMemory *resource.Quantity `json:"availableMemory,omitempty"`
	// Distances to NUMA nodes as the firmware tells them (ACPI SLIT).
	// +optional
	// +listType=map
	// +listMapKey=id
	Distances []Distance `json:"distances,omitempty"`
}

// Distance to a NUMA node: 10 is local, 255 unreachable.
type Distance struct {
	ID    int32 `json:"id"`
	Value int32 `json:"value"`
}

// GPU is one card, or one part of a card that is given away by itself.
type GPU struct {
	// ID is the UUID that containers and monitoring know it by.
	// +kubebuilder:validation:MinLength=1
	ID    string `json:"id"`
	Index int32  `json:"index"`
	Model string `json:"model"`
	// Type is what node labels, quotas and the annotation numalet.dev/gpu-type
	// name it by; that of a MIG slice ends in its profile.
	// +optional
	Type string `json:"type,omitempty"`
	// Card is the ID of the card that a part is of.
	// +optional
	Card string `json:"card,omitempty"`
	// +kubebuilder:validation:Enum=physical;virtual
	Form string `json:"form"`
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// BusID is the card's PCI address.
	// +optional
	BusID string `json:"busID,omitempty"`
	// NUMA is the id of the NUMA node next to it; absent when nobody knows.
	// +optional
	NUMA *int32 `json:"numa,omitempty"`
	// Links say how a card reaches the cards of the node, in the order of their
	// indexes, as "nvidia-smi topo -m" does: NV12, PIX, PXB, PHB, NODE or SYS; "-"
	// is the card itself, and "?" what nobody tells. Absent where no link is known,
	// and of parts.
	// +optional
	// +listType=atomic
	Links []string `json:"links,omitempty"`
	// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
	Health string `json:"health"`
	// Message says what is wrong with it, or why nobody knows, and what is to be done.
	// +optional
	Message string `json:"message,omitempty"`
}

// GPUHolder is a pod that holds GPUs.
type GPUHolder struct {
	// UID is that of the pod on its node. It is NAMESPACE/NAME of a pod that the API
	// server does not have.
	// +kubebuilder:validation:MinLength=1
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Devices are the IDs that the kubelet gave the pod's containers: of a card or slice
	// its UUID, of a share UUID::NUMBER. Ordered.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	Devices []string `json:"devices"`
}

// PodCPUs is what one pod holds.
type PodCPUs struct {
	// +kubebuilder:validation:MinLength=1
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// +listType=map
	// +listMapKey=name
	Containers []ContainerCPUs `json:"containers"`
}

// ContainerCPUs says where one container runs. Containers of one pod that never
// run together may name the same CPU.
type ContainerCPUs struct {
	Name string `json:"name"`
	CPUs string `json:"cpus"`
}
