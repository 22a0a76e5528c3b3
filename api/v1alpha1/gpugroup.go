package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GPUGroup dedicates GPUs of some nodes to the containers of some tenants: a GPU in
// a group is allocated only to containers that match a group with that GPU. Groups
// may overlap in nodes and in GPUs.
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
// +kubebuilder:printcolumn:name="Enforcement",type=string,priority=1,JSONPath=`.status.inForce.spec.enforcement`
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

// GPUGroupSpec says which GPUs are dedicated to which tenants.
type GPUGroupSpec struct {
	// Tenants are the tenants whose containers may use the group.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Tenants []string `json:"tenants"`
	// Form says whether the GPUs are allocated whole (physical) or in parts (virtual).
	// +optional
	// +kubebuilder:default=physical
	// +kubebuilder:validation:Enum=physical;virtual
	Form string `json:"form,omitempty"`
	// Type is the only GPU model in the group, by the product label of nodes, such as
	// NVIDIA-H100-80GB-HBM3. Absent means any model.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type,omitempty"`
	// Containers are the names of the containers that may use the group. Absent means
	// all containers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Containers []string `json:"containers,omitempty"`
	// Nodes are the nodes with the GPUs of the group.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Nodes []GPUGroupNode `json:"nodes"`
	// Quota is how many GPUs of the group, or parts of them, one tenant may hold at one
	// time. Absent means all of them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE][+-]?[0-9]{3}') && quantity(string(self)).isGreaterThan(quantity('0'))",message="quota must be more than 0, with at most two digits in its exponent; leave it out where there is no bound"
	Quota *resource.Quantity `json:"quota,omitempty"`
	// Enforcement says whether nodes keep others out. With strict, a node refuses
	// containers that got a GPU of the group, or a share of one, without a decision of
	// the controller. With advisory, the group binds only pods that the controller
	// schedules.
	// +optional
	// +kubebuilder:default=strict
	// +kubebuilder:validation:Enum=strict;advisory
	Enforcement string `json:"enforcement,omitempty"`
}

// EnforcementAdvisory is the enforcement of a group that nodes do not enforce.
const EnforcementAdvisory = "advisory"

// GPUGroupNode lists GPUs of one node.
type GPUGroupNode struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// GPUs are UUIDs of GPUs or of MIG slices, or indexes of GPUs. A GPU in MIG mode
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
	// ConditionAccepted is true while the newest spec is in force: its GPUs are there,
	// and each of its tenants has the right to use them. Otherwise the message says what
	// is in force.
	ConditionAccepted = "Accepted"
	// ConditionShared is true where other groups hold some of its GPUs, too.
	ConditionShared = "Shared"
)

// GPUGroupStatus is the observed state of the group.
type GPUGroupStatus struct {
	// ObservedGeneration is the generation of the spec that the controller last observed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// InForce is the spec that was accepted last. It stays in force until another one is
	// accepted. While its tenants lack the right to use its GPUs, nobody gets them.
	// +optional
	InForce *GPUGroupForm `json:"inForce,omitempty"`
	// GPUs is the number of GPUs or slices in the group.
	// +optional
	GPUs int32 `json:"gpus"`
	// Used is how much of the group is allocated, in GPUs, to the thousandth.
	// +optional
	Used *resource.Quantity `json:"used,omitempty"`
	// Usage is how much of the group each tenant holds.
	// +optional
	// +listType=map
	// +listMapKey=tenant
	Usage []TenantGPUs `json:"usage,omitempty"`
}

// GPUGroupForm is one generation of a group's spec.
type GPUGroupForm struct {
	// Generation is that of the object when it had this spec.
	Generation int64        `json:"generation"`
	Spec       GPUGroupSpec `json:"spec"`
}

// TenantGPUs is how much a tenant holds.
type TenantGPUs struct {
	// +kubebuilder:validation:MinLength=1
	Tenant string `json:"tenant"`
	// GPUs is the amount in GPUs, to the thousandth.
	GPUs resource.Quantity `json:"gpus"`
}
