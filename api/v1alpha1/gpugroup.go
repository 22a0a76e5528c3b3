package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GPUGroup dedicates GPUs of some nodes to the containers of some tenants. A GPU that is
// in one or more groups is allocated only to a container that may use one of these
// groups: see spec.tenants and spec.containers. Groups may overlap in nodes and in GPUs.
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

// GPUGroupResource returns the group, version and plural name of GPUGroups, for requests
// to the API server.
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
	// Form says whether the GPUs are allocated whole (physical) or in parts (virtual). The
	// controller does not accept groups of the form virtual, because the kubelet alone decides
	// which part a container gets.
	// +optional
	// +kubebuilder:default=physical
	// +kubebuilder:validation:Enum=physical;virtual
	Form string `json:"form,omitempty"`
	// Type is the GPU model to which the group is limited. It is written as in the node
	// label nvidia.com/gpu.product, such as NVIDIA-H100-80GB-HBM3. Absent means any
	// model.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type,omitempty"`
	// Containers are names of containers. A pod may use the group only if one of them is the
	// name of the pod's container with the most GPUs. Absent means all pods of the tenants.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Containers []string `json:"containers,omitempty"`
	// Nodes lists the GPUs of the group, node by node.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Nodes []GPUGroupNode `json:"nodes"`
	// Quota is how many GPUs of the group one tenant may hold at one time. The controller
	// allocates GPUs of groups only whole, so a fraction has the same effect as the next
	// smaller whole number. Absent means that there is no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE][+-]?[0-9]{3}') && quantity(string(self)).isGreaterThan(quantity('0'))",message="quota must be more than 0, with at most two digits in its exponent; leave it out where there is no bound"
	Quota *resource.Quantity `json:"quota,omitempty"`
	// Enforcement says who enforces the group. With strict, the controller and the nodes
	// enforce it. If the kubelet gives a container a GPU of the group, or a share of such a
	// GPU (nvidia.com/gpu.shared), the node refuses the container unless the controller
	// assigned this GPU to the pod. With advisory, only the controller enforces the group,
	// for the pods that it schedules.
	// +optional
	// +kubebuilder:default=strict
	// +kubebuilder:validation:Enum=strict;advisory
	Enforcement string `json:"enforcement,omitempty"`
}

// EnforcementAdvisory is the value of GPUGroupSpec.Enforcement with which only the
// controller enforces the group, and nodes do not.
const EnforcementAdvisory = "advisory"

// GPUGroupNode lists GPUs of one node.
type GPUGroupNode struct {
	// Name is the name of the node.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// GPUs are UUIDs of GPUs or of MIG slices, or indexes of GPUs. The UUID or index of a
	// GPU in MIG mode stands for all of its slices. Only a group of the form virtual can
	// have slices. The controller accepts no groups of this form, and so none with slices.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=96
	// +kubebuilder:validation:items:Pattern=`^([0-9]+|[A-Z]+-[-0-9A-Za-z/]+)$`
	GPUs []string `json:"gpus"`
}

// Conditions of a GPUGroup.
const (
	// ConditionAccepted is true while the controller applies the newest spec of the group. It
	// becomes true only if the nodes in the spec have the listed GPUs, and each tenant in the spec
	// has permission for the RBAC verb "use" on these GPUs (the resource "gpus") or on the
	// NodeTopologies of their nodes. In RBAC, a tenant is the user group numalet.dev:tenant:NAME. If
	// the condition is false, its message says why, and which older spec the controller applies, if
	// any.
	ConditionAccepted = "Accepted"
	// ConditionShared is true if another group has some of the GPUs of this group, too.
	ConditionShared = "Shared"
)

// GPUGroupStatus is the observed state of the group.
type GPUGroupStatus struct {
	// ObservedGeneration is the generation of the spec that the controller last observed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions has the condition Accepted, which says whether the controller applies the newest
	// spec, and the condition Shared, which says whether another group has some of the same GPUs.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// InForce is the spec that the controller applies: the spec that it accepted last. Each tenant
	// of this spec needs permission for the RBAC verb "use" on the listed GPUs or on the
	// NodeTopologies of their nodes. In role bindings, a tenant is the user group
	// numalet.dev:tenant:NAME. While a tenant lacks the permission for one of the GPUs, nobody gets
	// GPUs of the group.
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

// GPUGroupForm is the spec that a group had at one metadata.generation.
type GPUGroupForm struct {
	// Generation is the metadata.generation that the GPUGroup had with this spec.
	Generation int64        `json:"generation"`
	Spec       GPUGroupSpec `json:"spec"`
}

// TenantGPUs is how much of a group one tenant holds.
type TenantGPUs struct {
	// Tenant is the name of the tenant.
	// +kubebuilder:validation:MinLength=1
	Tenant string `json:"tenant"`
	// GPUs is the amount in GPUs, to the thousandth.
	GPUs resource.Quantity `json:"gpus"`
}
