package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GPUGroup keeps GPUs of some nodes for the containers of some tenants: a GPU
// that is in a group is given only to containers that match a group that holds
// it. Groups may hold the same nodes, and the same GPUs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=gpugroups,shortName=gg,categories=numalet
// +kubebuilder:printcolumn:name="Tenants",type=string,JSONPath=`.spec.tenants`
// +kubebuilder:printcolumn:name="Form",type=string,JSONPath=`.spec.form`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=`.status.gpus`
// +kubebuilder:printcolumn:name="Used",type=string,JSONPath=`.status.used`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Accepted")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GPUGroup struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GPUGroupSpec `json:"spec"`
	// +optional
	Status GPUGroupStatus `json:"status,omitempty"`
}

// GPUGroupList is a list of GPUGroup.
//
// +kubebuilder:object:root=true
type GPUGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GPUGroup `json:"items"`
}

// GPUGroupResource names the custom resource in requests.
func GPUGroupResource() schema.GroupVersionResource {
	return GroupVersion().WithResource("gpugroups")
}

// GPUGroupSpec is which GPUs are kept, and for whom.
type GPUGroupSpec struct {
	// Tenants are those whose containers it is for.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Tenants []string `json:"tenants"`
	// Form says whether the GPUs are given as whole cards or in parts.
	// +optional
	// +kubebuilder:default=physical
	// +kubebuilder:validation:Enum=physical;virtual
	Form string `json:"form,omitempty"`
	// Type is the only type of GPU in it, as nodes' GPU products are labelled,
	// such as NVIDIA-H100-80GB-HBM3. Absent means any.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type,omitempty"`
	// Containers are the names of the only containers that it is for. Absent means
	// any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Containers []string `json:"containers,omitempty"`
	// Nodes are where the GPUs are.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Nodes []GPUGroupNode `json:"nodes"`
	// Quota is how many of its GPUs, or parts of them, one tenant may hold at one
	// time. Absent means all of them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="quota must be more than 0: leave it out where there is no bound"
	Quota *resource.Quantity `json:"quota,omitempty"`
}

// GPUGroupNode is GPUs of one node.
type GPUGroupNode struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// GPUs are UUIDs of cards or of slices, or indexes of cards. A card in MIG mode
	// stands for all of its slices.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=96
	// +kubebuilder:validation:items:Pattern=`^([0-9]+|[A-Z]+-[-0-9A-Za-z/]+)$`
	GPUs []string `json:"gpus"`
}

// Conditions of a GPUGroup.
const (
	// ConditionAccepted is true while the group is in force: its GPUs are there, and
	// each of its tenants has the right to use them.
	ConditionAccepted = "Accepted"
	// ConditionShared is true where other groups hold some of its GPUs, too.
	ConditionShared = "Shared"
)

// GPUGroupStatus is what the controller made of the group.
type GPUGroupStatus struct {
	// ObservedGeneration is that of the spec that the controller goes by.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// GPUs is how many cards or slices it holds.
	// +optional
	GPUs int32 `json:"gpus"`
	// Used is how much of them is given, in cards, to the thousandth.
	// +optional
	Used *resource.Quantity `json:"used,omitempty"`
	// Usage is who holds how much of it.
	// +optional
	// +listType=map
	// +listMapKey=tenant
	Usage []TenantGPUs `json:"usage,omitempty"`
}

// TenantGPUs is how much a tenant holds.
type TenantGPUs struct {
	// +kubebuilder:validation:MinLength=1
	Tenant string `json:"tenant"`
	// GPUs is in cards, to the thousandth.
	GPUs resource.Quantity `json:"gpus"`
}
