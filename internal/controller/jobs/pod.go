package jobs

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/jobplan"
)

// These are the resources by which a pod requests whole GPUs (gpus) and shares of GPUs (shares).
const (
	gpus   corev1.ResourceName = "nvidia.com/gpu"
	shares corev1.ResourceName = "nvidia.com/gpu.shared"
)

// virtual is a value of a job's field gpuForm. If the field has this value, the pods of the job
// request shares of GPUs instead of whole GPUs.
const virtual = "virtual"

// newPod returns a new pod of the job. The caller must call t.own, which adds the owner reference
// and the labels with the names of the job and the tenant.
func (t *task) newPod(creation jobplan.Creation) *corev1.Pod {
	index := strconv.Itoa(creation.Index)
	template := t.job.Spec.Template.Metadata
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.job.Namespace, Name: podName(t.job, creation.Index),
			Labels: merge(template.Labels, map[string]string{
				v1alpha1.LabelJobIndex: index, v1alpha1.LabelJobAttempt: strconv.Itoa(creation.Attempt),
				v1alpha1.LabelJobUnstarted: strconv.Itoa(creation.Unstarted),
			}),
			Annotations: merge(template.Annotations, requestAnnotations(t.job.Spec.JobNeeds)),
		},
		Spec: *t.spec.DeepCopy(),
	}
	t.joinGang(pod)
	setDefaults(&pod.Spec, t.schedulerName)
	setResources(&pod.Spec.Containers[0].Resources, t.job.Spec.JobNeeds)
	connect(pod, t.job, creation.Index)
	return pod
}

// merge returns a map with the entries of both maps. For a key that is in both maps, it takes the
// value from the map `override`.
func merge(template, override map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, template)
	maps.Copy(all, override)
	return all
}

// requestAnnotations returns the annotations by which the pods of a job request a CPU policy, a
// type of GPUs and a form of GPUs (whole GPUs or parts of GPUs).
func requestAnnotations(needs v1alpha1.JobNeeds) map[string]string {
	all := map[string]string{
		v1alpha1.AnnotationCPUPolicy: needs.CPUPolicy,
		v1alpha1.AnnotationGPUType:   needs.GPUType,
		v1alpha1.AnnotationGPUForm:   needs.GPUForm,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// setDefaults sets the scheduler name and the restart policy of a pod if the template of the job
// leaves them out.
func setDefaults(spec *corev1.PodSpec, schedulerName string) {
	if spec.SchedulerName == "" {
		spec.SchedulerName = schedulerName
	}
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
}

// setResources sets the requests and limits of the first container of a pod to the amounts that
// the job's spec names.
func setResources(r *corev1.ResourceRequirements, needs v1alpha1.JobNeeds) {
	amounts := corev1.ResourceList{}
	if needs.CPU != nil {
		amounts[corev1.ResourceCPU] = *needs.CPU
	}
	if needs.Memory != nil {
		amounts[corev1.ResourceMemory] = *needs.Memory
	}
	if needs.GPUs > 0 {
		name := gpus
		if needs.GPUForm == virtual {
			name = shares
		}
		amounts[name] = *resource.NewQuantity(int64(needs.GPUs), resource.DecimalSI)
	}
	if len(amounts) == 0 {
		return
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	if r.Limits == nil {
		r.Limits = corev1.ResourceList{}
	}
	maps.Copy(r.Requests, amounts)
	maps.Copy(r.Limits, amounts)
}

// connect sets the host name of a pod. It adds environment variables and files by which the pod's
// containers find the other pods of the job. It keeps the variables and mounts that the template
// defines.
func connect(pod *corev1.Pod, job *v1alpha1.Job, index int) {
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, job.Name
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: job.Name}},
	}})
	variables := rendezvous(job, index)
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			addRendezvous(&list[i], variables)
		}
	}
}

// addRendezvous adds environment variables and the mount of the job's ConfigMap to a container. It
// leaves out those that the container already has.
func addRendezvous(container *corev1.Container, variables []corev1.EnvVar) {
	for _, v := range variables {
		if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == v.Name }) {
			container.Env = append(container.Env, v)
		}
	}
	if !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == folder }) {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: folder, ReadOnly: true})
	}
}
