package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// JobSpec describes a job and when it ends. If the Job of batch/v1 has a field of the same name,
// the field has the same meaning here, unless its description says otherwise.
//
// +kubebuilder:validation:XValidation:rule="self.minAvailable <= self.replicas",message="minAvailable must not be more than replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.cpuPolicy) || has(self.cpu) && has(self.memory) && !string(self.cpu).matches('[eE][+-]?[0-9]{3}') && quantity(string(self.cpu)).isInteger()",message="cpuPolicy requests exclusive CPUs: set cpu to a whole number, such as 4, and set memory"
// +kubebuilder:validation:XValidation:rule="self.gpus > 0 || !has(self.gpuType) && !has(self.gpuForm)",message="gpuType and gpuForm restrict which GPUs are allocated: set gpus to their number"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || self.replicas == oldSelf.replicas && self.minAvailable == oldSelf.minAvailable",message="replicas and minAvailable can change only while the job is suspended"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || self.gpus == oldSelf.gpus && has(self.gpuType) == has(oldSelf.gpuType) && (!has(self.gpuType) || self.gpuType == oldSelf.gpuType) && has(self.gpuForm) == has(oldSelf.gpuForm) && (!has(self.gpuForm) || self.gpuForm == oldSelf.gpuForm)",message="gpus, gpuType and gpuForm can change only while the job is suspended"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || has(self.cpu) == has(oldSelf.cpu) && (!has(self.cpu) || !string(self.cpu).matches('[eE][+-]?[0-9]{3}') && quantity(string(self.cpu)).compareTo(quantity(string(oldSelf.cpu))) == 0) && has(self.memory) == has(oldSelf.memory) && (!has(self.memory) || !string(self.memory).matches('[eE][+-]?[0-9]{3}') && quantity(string(self.memory)).compareTo(quantity(string(oldSelf.memory))) == 0) && has(self.cpuPolicy) == has(oldSelf.cpuPolicy) && (!has(self.cpuPolicy) || self.cpuPolicy == oldSelf.cpuPolicy)",message="cpu, memory and cpuPolicy can change only while the job is suspended"
// +kubebuilder:validation:XValidation:rule="oldSelf.suspend || self.template == oldSelf.template",message="template can change only while the job is suspended"
type JobSpec struct {
	JobNeeds `json:",inline"`
	// Replicas is the number of pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	Replicas int32 `json:"replicas,omitempty"`
	// MinAvailable is the number of pods that must start at the same time. If minAvailable is 1,
	// each pod starts as soon as the pod fits on a node. If minAvailable equals replicas, no pod
	// starts before all pods fit.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MinAvailable int32 `json:"minAvailable,omitempty"`
	// Suspend prevents the job from running. If it becomes true while the job runs, the pods that
	// have not succeeded are deleted.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend"`
	// BackoffLimit is the number of times that failed pods are replaced before the job
	// fails. Pods that were evicted or that the node refused do not count.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// ActiveDeadlineSeconds is how long the job may run after status.startTime, in seconds. After
	// that time, the job fails. The time before status.startTime, in which the job waits in the
	// queue, does not count. In batch/v1, that time counts, too. Absent means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// TTLSecondsAfterFinished is the time from the end of the job until the job is deleted, in
	// seconds. Absent means that the job is never deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// Template describes the pods.
	Template PodTemplate `json:"template"`
}

// JobNeeds are the resources of each pod. They become requests and limits of the first
// container of the template, and annotations of the pod.
type JobNeeds struct {
	// CPU is the number of CPUs of each pod.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE][+-]?[0-9]{3}') && quantity(string(self)).isGreaterThan(quantity('0'))",message="cpu must be more than 0, with at most two digits in its exponent"
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// CPUPolicy makes the CPUs exclusive, and selects how they are distributed over NUMA nodes. The
	// values are spread (evenly), single (all on one NUMA node) and random (on any NUMA nodes).
	// +optional
	// +kubebuilder:validation:Enum=spread;single;random
	CPUPolicy string `json:"cpuPolicy,omitempty"`
	// Memory is the amount of memory of each pod, in bytes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE][+-]?[0-9]{3}') && quantity(string(self)).isGreaterThan(quantity('0'))",message="memory must be more than 0, with at most two digits in its exponent"
	Memory *resource.Quantity `json:"memory,omitempty"`
	// GPUs is the number of GPUs of each pod. The field gpuForm says whether these are whole GPUs
	// or parts of GPUs.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	GPUs int32 `json:"gpus"`
	// GPUType is the model of the GPUs. Absent means any model.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	GPUType string `json:"gpuType,omitempty"`
	// GPUForm is physical for whole GPUs or virtual for parts of GPUs. Absent means physical.
	// +optional
	// +kubebuilder:validation:Enum=physical;virtual
	GPUForm string `json:"gpuForm,omitempty"`
}
