package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Job runs a number of equal pods until they have succeeded. It specifies the resources of each
// pod, and how many of the pods must run at the same time.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jobs,shortName=njob,categories=numalet
// +kubebuilder:printcolumn:name="Tenant",type=string,JSONPath=`.metadata.labels.numalet\.dev/tenant`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.active`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="CPU",type=string,priority=1,JSONPath=`.spec.cpu`
// +kubebuilder:printcolumn:name="Memory",type=string,priority=1,JSONPath=`.spec.memory`
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=`.spec.gpus`
// +kubebuilder:printcolumn:name="GPU-Type",type=string,JSONPath=`.spec.gpuType`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 58",message="the names of the pods begin with the name of the job and are host names: use at most 58 characters"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the Service of a job has the name of the job: begin with a lowercase letter, and use lowercase letters, digits and hyphens"
type Job struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              JobSpec `json:"spec"`
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// JobList is a list of Job.
//
// +kubebuilder:object:root=true
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Job `json:"items"`
}

// JobResource returns the group, version and plural name of Jobs, for requests to the API server.
func JobResource() schema.GroupVersionResource { return GroupVersion().WithResource("jobs") }
