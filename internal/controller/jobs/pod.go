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

// Resources by which a pod asks for GPUs: cards, and shares of cards.
const (
	cards  corev1.ResourceName = "nvidia.com/gpu"
	shares corev1.ResourceName = "nvidia.com/gpu.shared"
)

// virtual is the form of GPUs that are parts of cards.
const virtual = "virtual"

// newPod returns a pod of the job, but for what all objects of it have.
func (t *task) newPod(birth jobplan.Birth) *corev1.Pod {
	index := strconv.Itoa(birth.Index)
	template := t.job.Spec.Template.Metadata
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.job.Namespace, Name: podName(t.job, birth.Index),
			Labels: with(template.Labels, map[string]string{
				v1alpha1.LabelJobIndex: index, v1alpha1.LabelJobAttempt: strconv.Itoa(birth.Attempt),
			}),
			Annotations: with(template.Annotations, asks(t.job.Spec.JobNeeds)),
		},
		Spec: *t.spec.DeepCopy(),
	}
	t.gather(pod)
	complete(&pod.Spec, t.schedulerName)
	need(&pod.Spec.Containers[0].Resources, t.job.Spec.JobNeeds)
	join(pod, t.job, birth.Index)
	return pod
}

// with returns what a template has, overruled.
func with(template, overrule map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, template)
	maps.Copy(all, overrule)
	return all
}

// asks returns the annotations by which a pod asks for what a job needs.
func asks(needs v1alpha1.JobNeeds) map[string]string {
	all := map[string]string{
		v1alpha1.AnnotationCPUPolicy: needs.CPUPolicy,
		v1alpha1.AnnotationGPUType:   needs.GPUType,
		v1alpha1.AnnotationGPUForm:   needs.GPUForm,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// complete adds what a template may leave out.
func complete(spec *corev1.PodSpec, schedulerName string) {
	if spec.SchedulerName == "" {
		spec.SchedulerName = schedulerName
	}
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
}

// need makes a container ask for what the job says that its pods need.
func need(r *corev1.ResourceRequirements, needs v1alpha1.JobNeeds) {
	amounts := corev1.ResourceList{}
	if needs.CPU != nil {
		amounts[corev1.ResourceCPU] = *needs.CPU
	}
	if needs.Memory != nil {
		amounts[corev1.ResourceMemory] = *needs.Memory
	}
	if needs.GPUs > 0 {
		name := cards
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

// join lets a pod take part: it has a name that others know, and its containers know
// the others. Variables that a template has, and what it mounts in that place, stay.
func join(pod *corev1.Pod, job *v1alpha1.Job, index int) {
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, job.Name
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: job.Name}},
	}})
	variables := rendezvous(job, index)
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			introduce(&list[i], variables)
		}
	}
}

// introduce tells a container who else takes part.
func introduce(c *corev1.Container, variables []corev1.EnvVar) {
	for _, v := range variables {
		if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == v.Name }) {
			c.Env = append(c.Env, v)
		}
	}
	if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == folder }) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: folder, ReadOnly: true})
	}
}
