package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// JobPhase summarizes the state of a job.
//
// +kubebuilder:validation:Enum=Pending;Running;Suspended;Succeeded;Failed
type JobPhase string

// The phases of a job. A job can change between Pending, Running and Suspended any
// number of times. Succeeded and Failed are final.
const (
	JobPending   JobPhase = "Pending" // no pod runs, or the number of pods that run or have succeeded is less than minAvailable
	JobRunning   JobPhase = "Running"
	JobSuspended JobPhase = "Suspended"
	JobSucceeded JobPhase = "Succeeded" // every pod succeeded
	JobFailed    JobPhase = "Failed"
)

// The conditions of a job. They have the same names as the conditions of the Job of
// batch/v1. Once the job has finished, either Complete or Failed is true.
const (
	ConditionSuspended = "Suspended"
	ConditionComplete  = "Complete"
	ConditionFailed    = "Failed"
)

// JobStatus is the observed state of a job.
type JobStatus struct {
	// ObservedGeneration is the generation of the spec that the controller last observed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase summarizes the state of the job.
	// +optional
	Phase JobPhase `json:"phase,omitempty"`
	// Message explains the phase in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// Conditions has the conditions Suspended, Complete and Failed of the job.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// StartTime is when the job first had enough pods: at least one pod ran, and the number of pods
	// that ran or had succeeded was at least minAvailable. If the job was suspended and resumed,
	// StartTime is the first such time after the latest resumption.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// CompletionTime is the time at which the job succeeded.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	PodCounts      `json:",inline"`
	// CompletedIndexes are the indexes of the pods that succeeded, such as 0-2,5. No new
	// pods are created for these indexes, even if their pods are deleted.
	// +optional
	CompletedIndexes string `json:"completedIndexes,omitempty"`
	// Failures lists the completion indexes that have failed pods, and the number of
	// failed pods of each. The list is ordered by index.
	// +optional
	// +listType=map
	// +listMapKey=index
	Failures []IndexFailures `json:"failures,omitempty"`
	// Unstarted lists the completion indexes whose latest pods were evicted or refused by their
	// node before they started, and how many such pods there were, one after the other. The more
	// there were, the later the next pod is created. These pods do not count towards backoffLimit.
	// The list is ordered by index.
	// +optional
	// +listType=atomic
	Unstarted []IndexFailures `json:"unstarted,omitempty"`
	// Objects are the objects created for the job in its namespace, ordered by kind and
	// name.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	Objects []JobObject `json:"objects,omitempty"`
}

// PodCounts counts the pods of a job.
type PodCounts struct {
	// Active is the number of pending and running pods that are not being deleted.
	// +optional
	Active int32 `json:"active"`
	// Ready is the number of active pods that are ready.
	// +optional
	Ready int32 `json:"ready"`
	// Succeeded is the number of pods that succeeded.
	// +optional
	Succeeded int32 `json:"succeeded"`
	// Failed is the number of pods that failed, including those that were replaced.
	// +optional
	Failed int32 `json:"failed"`
}

// IndexFailures counts the failed pods with one index.
type IndexFailures struct {
	// Index is the completion index of the pods.
	Index int32 `json:"index"`
	// Count is the number of failed pods.
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
}

// JobObject identifies a Pod, Service or ConfigMap of a job.
type JobObject struct {
	// Kind is the kind of the object: Pod, Service or ConfigMap.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
	// Name is the metadata.name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// UID is the metadata.uid of the object.
	UID types.UID `json:"uid"`
}
