package mirror

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

func nodeOf(name string, w scenario.Words) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": quantity(w.Value("cpu")), "memory": quantity("64Gi"), "pods": quantity("110")}
	if gpus := w.Value("gpus"); w.Has("gpus") {
		node.Status.Allocatable["nvidia.com/gpu"] = quantity(gpus)
	}
	for resource, amount := range w.Pairs("parts") {
		node.Status.Allocatable[corev1.ResourceName("nvidia.com/"+resource)] = quantity(amount)
	}
	node.Status.Capacity = node.Status.Allocatable
	if model := w.Value("model"); w.Has("model") {
		node.Labels = map[string]string{labelProduct: model}
	}
	return node
}

// topologyOf returns the NodeTopology that the words w of a script command describe. For example,
// the word numa=0:0-3,1:4-7 means two NUMA nodes: 0 with the CPUs 0-3, and 1 with the CPUs 4-7.
func topologyOf(name string, w scenario.Words) *v1alpha1.NodeTopology {
	topology := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ready := metav1.ConditionTrue
	if w.Value("ready") == "false" {
		ready = metav1.ConditionFalse
	}
	topology.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready}}
	reserved := w.CPUs("reserved")
	topology.Status.Machine.ReservedCPUs = w.Value("reserved")
	if threads := w.Value("full-cores"); w.Has("full-cores") {
		topology.Status.Machine.FullCores, topology.Status.Machine.ThreadsPerCore = true, int32(scenario.Int(threads))
	}
	for id, list := range w.Pairs("numa") {
		cpus := cpuset.MustParse(list)
		n := v1alpha1.NUMANode{ID: int32(scenario.Int(id)), CPUs: list}
		n.Capacity, n.Allocatable = int32(cpus.Len()), int32(cpus.Minus(reserved).Len())
		topology.Status.NUMA = append(topology.Status.NUMA, n)
	}
	for id, model := range w.List("gpus") {
		topology.Status.GPUs = append(topology.Status.GPUs, v1alpha1.GPU{ID: fmt.Sprint(id), Model: model, Form: "physical", Health: "Healthy"})
	}
	for model, profile := range w.Pairs("slices") {
		topology.Status.GPUs = append(topology.Status.GPUs, v1alpha1.GPU{ID: model + profile, Model: model, Form: "virtual", Type: gpu.SliceTypeName(model, profile)})
	}
	for uid, ids := range w.Pairs("gpu-holders") {
		uid, name := namesOf(uid)
		topology.Status.GPUHolders = append(topology.Status.GPUHolders, v1alpha1.GPUHolder{UID: uid, Namespace: "default", Name: name, Devices: strings.Split(ids, "+")})
	}
	for uid, list := range w.Pairs("holds") {
		uid, name := namesOf(uid)
		topology.Status.Pods = append(topology.Status.Pods, v1alpha1.PodCPUs{UID: uid, Namespace: "default", Name: name, Containers: []v1alpha1.ContainerCPUs{{Name: "main", CPUs: list}}})
	}
	return topology
}

// namesOf returns the UID and the name of the pod that a word of a test script names. `text`
// is either UID@NAME, or only the UID in the form uid-NAME.
func namesOf(text string) (uid, name string) {
	uid, name, static := strings.Cut(text, "@")
	if !static {
		name = strings.TrimPrefix(uid, "uid-")
	}
	return uid, name
}

// resized gives a pod the status of an in-place resize: the CPUs that the kubelet has allocated,
// the CPUs that the container has now, and the reason why the resize is pending or in progress.
func resized(pod *corev1.Pod, allocated, actual, reason string) {
	has := corev1.ResourceList{"cpu": quantity(actual), "memory": quantity("1Gi")}
	pod.Generation = 2
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", AllocatedResources: corev1.ResourceList{"cpu": quantity(allocated), "memory": quantity("1Gi")},
		Resources: &corev1.ResourceRequirements{Limits: has, Requests: has},
	}}
	condition := corev1.PodResizePending
	if reason == corev1.PodReasonError {
		condition = corev1.PodResizeInProgress
	}
	if reason != "" {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, Reason: reason})
	}
}

func podOf(name string, w scenario.Words) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{}, Annotations: map[string]string{},
		CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)),
	}}
	list := corev1.ResourceList{"cpu": quantity(w.Value("cpu")), "memory": quantity("1Gi")}
	if gpus := w.Value("gpus"); w.Has("gpus") {
		list["nvidia.com/gpu"] = quantity(gpus)
	}
	for resource, amount := range w.Pairs("parts") {
		list[corev1.ResourceName("nvidia.com/"+resource)] = quantity(amount)
	}
	pod.Spec = corev1.PodSpec{NodeName: w.Value("node"), SchedulerName: "ours", Containers: []corev1.Container{
		{Name: "main", Resources: corev1.ResourceRequirements{Limits: list, Requests: list}},
	}}
	if scheduler := w.Value("scheduler"); w.Has("scheduler") {
		pod.Spec.SchedulerName = scheduler
	}
	if init := w.Value("init"); w.Has("init") {
		first := corev1.ResourceList{"cpu": quantity(init), "memory": quantity("1Gi")}
		pod.Spec.InitContainers = []corev1.Container{{Name: "first", Resources: corev1.ResourceRequirements{Limits: first, Requests: first}}}
	}
	pod.Status.Phase = corev1.PodPhase(w.Value("phase"))
	if w.Has("allocated") {
		resized(pod, w.Value("allocated"), w.Value("actual"), w.Value("resize"))
	}
	if second := w.Value("since"); w.Has("since") {
		at := metav1.NewTime(time.Unix(int64(scenario.Int(second)), 0))
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at}}
	}
	if name := w.Value("tenant"); w.Has("tenant") {
		pod.Labels[v1alpha1.LabelTenant] = name
	}
	if name := w.Value("group"); w.Has("group") {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	}
	if name := w.Value("gang"); w.Has("gang") {
		pod.Labels[v1alpha1.LabelGang] = name
	}
	annotate(pod, w)
	return pod
}

func annotate(pod *corev1.Pod, w scenario.Words) {
	if ids := w.Value("gpu-placement"); w.Has("gpu-placement") {
		pod.Annotations[v1alpha1.AnnotationPlacement] = gpuPlacementOf(strings.Split(ids, "+"))
	}
	for option, name := range map[string]string{
		"policy": v1alpha1.AnnotationCPUPolicy, "static": v1alpha1.AnnotationConfigHash,
		"gpu-type": v1alpha1.AnnotationGPUType, "gpu-form": v1alpha1.AnnotationGPUForm, "least": v1alpha1.AnnotationGangMinAvailable,
	} {
		if value := w.Value(option); w.Has(option) {
			pod.Annotations[name] = value
		}
	}
	if hash := w.Value("static"); w.Has("static") {
		pod.Annotations[v1alpha1.AnnotationConfigMirror] = hash
	}
	if w.Has("gated") {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
	}
	if w.Has("deleting") {
		now := metav1.NewTime(time.Unix(2000, 0))
		pod.DeletionTimestamp = &now
	}
	if text := w.Value("placement"); w.Has("placement") {
		pod.Annotations[v1alpha1.AnnotationPlacement] = placementOf(text)
	}
}

func gpuPlacementOf(ids []string) string {
	value, err := v1alpha1.FormatPlacement(map[string]v1alpha1.ContainerPlacement{"main": {GPUs: ids}})
	if err != nil {
		panic(err)
	}
	return value
}

func placementOf(text string) string {
	counts := map[topology.NodeID]int{}
	for id, cpus := range scenario.Pairs(text) {
		counts[topology.NodeID(scenario.Int(id))] = scenario.Int(cpus)
	}
	value, err := v1alpha1.FormatPlacement(map[string]v1alpha1.ContainerPlacement{"main": {CPUs: counts}})
	if err != nil {
		panic(err)
	}
	return value
}

func quantity(text string) resource.Quantity {
	if text == "" {
		text = "1"
	}
	return resource.MustParse(text)
}
