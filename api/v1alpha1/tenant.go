package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Tenant is a user, a team or a project that shares the cluster with others. The label
// numalet.dev/tenant of a Job or a pod names its tenant.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=tenants,shortName=tn,categories=numalet
// +kubebuilder:printcolumn:name="Weight",type=string,JSONPath=`.spec.weight`
// +kubebuilder:printcolumn:name="CPUs",type=string,JSONPath=`.status.accounts[?(@.type=="cpu")].usage`
// +kubebuilder:printcolumn:name="CPU-Score",type=string,JSONPath=`.status.accounts[?(@.type=="cpu")].score`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name of a tenant is the value of a label: at most 63 characters"
type Tenant struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	// +kubebuilder:default={}
	Spec TenantSpec `json:"spec,omitempty"`
	// +optional
	Status TenantStatus `json:"status,omitempty"`
}

// TenantList is a list of Tenant.
//
// +kubebuilder:object:root=true
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tenant `json:"items"`
}

// TenantResource returns the group, version and plural name of Tenants, for requests to the API
// server.
func TenantResource() schema.GroupVersionResource {
	return GroupVersion().WithResource("tenants")
}

// TenantSpec is what an administrator grants to a tenant.
type TenantSpec struct {
	// Weight is the tenant's share relative to the shares of other tenants. If a tenant with weight
	// 2 uses twice as much as a tenant with weight 1, neither comes before the other in the queue.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE][+-]?[0-9]{3}') && quantity(string(self)).isGreaterThan(quantity('0'))",message="weight must be more than 0, with at most two digits in its exponent"
	Weight *resource.Quantity `json:"weight,omitempty"`
	// Quotas limit how much the tenant may hold at one time, by type of resource. The type is "cpu"
	// (the CPU requests of pods without GPUs, in logical CPUs), the name of a GPU model (GPUs of
	// that model), or "gpu" (GPUs of all models together). The use of a type without a quota is not
	// limited.
	// +optional
	// +kubebuilder:validation:MaxProperties=24
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t) > 0 && !t.contains('|') && !t.contains(','))",message="a quota is of one type of resource: cpu, gpu, or the name of one model of GPU"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !string(self[t]).matches('^-|[eE][+-]?[0-9]{3}'))",message="a quota must be 0 or more, with at most two digits in its exponent"
	Quotas map[string]resource.Quantity `json:"quotas,omitempty"`
}

// ConditionWithinQuota of a Tenant is false while the tenant exceeds at least one of its quotas. The
// message of the condition says how much of each quota is used.
const ConditionWithinQuota = "WithinQuota"

// TenantStatus is the current and the past usage of the tenant.
type TenantStatus struct {
	// ObservedGeneration is the generation of the spec that the controller last observed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions has the condition Ready, which says whether the controller applies the spec, and the
	// condition WithinQuota, which is false while the tenant exceeds one of its quotas.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Accounts are the tenant's usage and score by type of resource.
	// +optional
	// +listType=map
	// +listMapKey=type
	Accounts []Account `json:"accounts,omitempty"`
}

// Account is a tenant's use of one type of resource.
type Account struct {
	// Type is "cpu", the name of a GPU model, or "gpu" for GPUs of unknown model. Unlike in a
	// quota, "gpu" does not stand for the GPUs of all models.
	// +kubebuilder:validation:MinLength=1
	Type string `json:"type"`
	// Usage is the amount that the tenant held at LastUpdateTime, in CPUs or GPUs, to the
	// thousandth. Usage and score leave out pods that were bound less than 5 s before
	// LastUpdateTime.
	Usage resource.Quantity `json:"usage"`
	// Score is the decayed average of usage, in CPUs or GPUs: recent usage counts more
	// than old usage. Tenants with a lower score per weight come first in the queue. The score is a
	// decimal number with so many digits that a new leader of the controller can continue to
	// compute it exactly.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?$`
	Score string `json:"score"`
	// LastUpdateTime is the time for which the score was computed, to the microsecond.
	LastUpdateTime metav1.MicroTime `json:"lastUpdateTime"`
}
