package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// JobSpec is what a job is and when it is over. Fields that batch/v1 Job has too
// mean the same here.
//
// +kubebuilder:validation:XValidation:rule="self.minAvailable <= self.replicas",message="minAvailable must not be more than replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.cpuPolicy) || has(self.cpu) && has(self.memory) && quantity(string(self.cpu)).isInteger()",message="cpuPolicy asks for exclusive CPUs: give cpu as a whole number, such as 4, and memory"
// +kubebuilder:validation:XValidation:rule="self.gpus > 0 || !has(self.gpuType) && !has(self.gpuForm)",message="gpuType and gpuForm say which GPUs suit: give gpus, how many"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || self.replicas == oldSelf.replicas && self.minAvailable == oldSelf.minAvailable",message="replicas and minAvailable can change only while the job is suspended"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || self.gpus == oldSelf.gpus && has(self.gpuType) == has(oldSelf.gpuType) && (!has(self.gpuType) || self.gpuType == oldSelf.gpuType) && has(self.gpuForm) == has(oldSelf.gpuForm) && (!has(self.gpuForm) || self.gpuForm == oldSelf.gpuForm)",message="gpus, gpuType and gpuForm can change only while the job is suspended"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || has(self.cpu) == has(oldSelf.cpu) && (!has(self.cpu) || quantity(string(self.cpu)).compareTo(quantity(string(oldSelf.cpu))) == 0) && has(self.memory) == has(oldSelf.memory) && (!has(self.memory) || quantity(string(self.memory)).compareTo(quantity(string(oldSelf.memory))) == 0) && has(self.cpuPolicy) == has(oldSelf.cpuPolicy) && (!has(self.cpuPolicy) || self.cpuPolicy == oldSelf.cpuPolicy)",message="cpu, memory and cpuPolicy can change only while the job is suspended"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || self.template == oldSelf.template",message="template can change only while the job is suspended"
type JobSpec struct {
	JobNeeds `json:",inline"`
	// Replicas is how many pods the job has.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	Replicas int32 `json:"replicas,omitempty"`
	// MinAvailable is how many of the pods start together or not at all: with 1
	// each starts when there is room for it, with as many as replicas none starts
	// before there is room for all.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MinAvailable int32 `json:"minAvailable,omitempty"`
	// Suspend keeps the job from running; a job that runs loses its pods.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend"`
	// BackoffLimit is how often a pod that failed is made anew before the job fails.
	// A pod that was evicted, or that the node refused, did not fail.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// ActiveDeadlineSeconds is how long the job may run before it fails, counted
	// from status.startTime on: what it waits for room is left out, unlike in
	// batch/v1. Absent means as long as it takes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// TTLSecondsAfterFinished is how long the job is kept when it is over. Absent
	// means until somebody deletes it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// Template is what each pod is made of.
	Template PodTemplate `json:"template"`
}

// JobNeeds is what each pod needs. It becomes the requests and limits of the
// first container of the template, and annotations of the pod.
type JobNeeds struct {
	// CPU is how many cores.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="cpu must be more than 0"
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// CPUPolicy makes them exclusive, and says how they fall on NUMA nodes.
	// +optional
	// +kubebuilder:validation:Enum=spread;single;random
	CPUPolicy string `json:"cpuPolicy,omitempty"`
	// Memory is how many bytes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="memory must be more than 0"
	Memory *resource.Quantity `json:"memory,omitempty"`
	// GPUs is how many cards, or virtual parts of cards.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	GPUs int32 `json:"gpus"`
	// GPUType is the only model that suits.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	GPUType string `json:"gpuType,omitempty"`
	// GPUForm is the only form that suits: whole cards or virtual parts.
	// +optional
	// +kubebuilder:validation:Enum=physical;virtual
	GPUForm string `json:"gpuForm,omitempty"`
}
