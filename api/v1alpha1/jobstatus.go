package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// JobPhase sums up where a job is.
//
// +kubebuilder:validation:Enum=Pending;Running;Suspended;Succeeded;Failed
type JobPhase string

// Phases. A job goes between the first three as often as it takes, and is over
// with one of the last two.
const (
	JobPending   JobPhase = "Pending" // no pod runs, or fewer than minAvailable
	JobRunning   JobPhase = "Running"
	JobSuspended JobPhase = "Suspended"
	JobSucceeded JobPhase = "Succeeded" // every pod did
	JobFailed    JobPhase = "Failed"
)

// Conditions of a job, by the names that batch/v1 has for them. Of the last two one
// is true when the job is over.
const (
	ConditionSuspended = "Suspended"
	ConditionComplete  = "Complete"
	ConditionFailed    = "Failed"
)

// JobStatus is how far a job is.
type JobStatus struct {
	// ObservedGeneration is that of the spec that the controller goes by.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	Phase JobPhase `json:"phase,omitempty"`
	// Message says in a sentence why the job is in its phase.
	// +optional
	Message string `json:"message,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// StartTime is when the job began to run, minAvailable of its pods at least; of
	// one that was suspended, when it did so last.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// CompletionTime is when the job succeeded.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	PodCounts      `json:",inline"`
	// CompletedIndexes are those of the pods that succeeded, such as 0-2,5: they are
	// not made again, even if their pods are deleted.
	// +optional
	CompletedIndexes string `json:"completedIndexes,omitempty"`
	// Failures says which pods failed, and how often, ordered by index.
	// +optional
	// +listType=map
	// +listMapKey=index
	Failures []IndexFailures `json:"failures,omitempty"`
	// Objects made for the job, in its namespace; ordered by kind and name.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	Objects []JobObject `json:"objects,omitempty"`
}

// PodCounts are pods of a job.
type PodCounts struct {
	// Active are pending or running.
	// +optional
	Active int32 `json:"active"`
	// Ready are those of the active ones that are ready.
	// +optional
	Ready int32 `json:"ready"`
	// +optional
	Succeeded int32 `json:"succeeded"`
	// Failed counts each pod that failed, those made anew too.
	// +optional
	Failed int32 `json:"failed"`
}

// IndexFailures are of the pods with one index.
type IndexFailures struct {
	Index int32 `json:"index"`
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
}

// JobObject is a Pod, Service or ConfigMap.
type JobObject struct {
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
	// +kubebuilder:validation:MinLength=1
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}
