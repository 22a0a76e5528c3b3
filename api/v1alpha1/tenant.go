package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Tenant is whoever shares the cluster with others: a user, a team, a project. A
// Job or a pod is of the tenant that its label numalet.dev/tenant names.
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

// TenantResource names the custom resource in requests.
func TenantResource() schema.GroupVersionResource {
	return GroupVersion().WithResource("tenants")
}

// TenantSpec is what an administrator grants.
type TenantSpec struct {
	// Weight is the tenant's share against that of others: who has 2 may use
	// twice as much as who has 1 and comes first as often.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="weight must be more than 0"
	Weight *resource.Quantity `json:"weight,omitempty"`
	// Quotas is how much the tenant may hold at one time, by type of resource:
	// cores of "cpu", cards of a model of GPU by its name, cards of whichever
	// model as "gpu". What is not named has no bound.
	// +optional
	// +kubebuilder:validation:MaxProperties=24
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t) > 0 && !t.contains('|') && !t.contains(','))",message="a quota is of one type of resource: cpu, gpu, or the name of one model of GPU"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !string(self[t]).startsWith('-'))",message="a quota must be 0 or more"
	Quotas map[string]resource.Quantity `json:"quotas,omitempty"`
}

// ConditionWithinQuota of a Tenant is false while it holds more than a quota; its
// message says how much of each is used.
const ConditionWithinQuota = "WithinQuota"

// TenantStatus is what the tenant uses and used.
type TenantStatus struct {
	// ObservedGeneration is that of the spec that the controller goes by.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Accounts has the types of resource that the tenant uses or used, by name.
	// +optional
	// +listType=map
	// +listMapKey=type
	Accounts []Account `json:"accounts,omitempty"`
}

// Account is a tenant's use of one type of resource.
type Account struct {
	// Type is "cpu", the name of a model of GPU, or "gpu" for cards of which
	// nobody knows the model.
	// +kubebuilder:validation:MinLength=1
	Type string `json:"type"`
	// Usage is what is held since LastUpdateTime, in cores or cards, to the thousandth.
	// Pods that were bound less than 5 s before that are not in it, nor in the score.
	Usage resource.Quantity `json:"usage"`
	// Score follows usage, recent use more than old: the more was used, the later
	// the tenant's turn. It is a decimal number, in cores or cards, with as many
	// digits as it takes to go on from it exactly.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?$`
	Score string `json:"score"`
	// LastUpdateTime is when the score was so, to the microsecond.
	LastUpdateTime metav1.MicroTime `json:"lastUpdateTime"`
}
