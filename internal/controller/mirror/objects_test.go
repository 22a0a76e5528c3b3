package mirror

import (
	"fmt"
	"iter"
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
)

// options are the words of a command that have a value.
func options(words []string) map[string]string {
	args := map[string]string{}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			args[name] = value
		}
	}
	return args
}

func nodeOf(name string, args map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = corev1.ResourceList{"cpu": quantity(args["cpu"]), "memory": quantity("64Gi"), "pods": quantity("110")}
	if gpus, ok := args["gpus"]; ok {
		n.Status.Allocatable["nvidia.com/gpu"] = quantity(gpus)
	}
	for resource, amount := range pairs(args["parts"]) {
		n.Status.Allocatable[corev1.ResourceName("nvidia.com/"+resource)] = quantity(amount)
	}
	n.Status.Capacity = n.Status.Allocatable
	if model, ok := args["model"]; ok {
		n.Labels = map[string]string{labelProduct: model}
	}
	return n
}

// topologyOf reads numa=0:0-3,1:4-7: one CPU range a NUMA node.
func topologyOf(name string, args map[string]string) *v1alpha1.NodeTopology {
	t := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ready := metav1.ConditionTrue
	if args["ready"] == "false" {
		ready = metav1.ConditionFalse
	}
	t.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready}}
	reserved := cpuset.MustParse(args["reserved"])
	t.Status.Machine.ReservedCPUs = args["reserved"]
	if threads, ok := args["full-cores"]; ok {
		t.Status.Machine.FullCores, t.Status.Machine.ThreadsPerCore = true, int32(scenario.Number(threads))
	}
	for id, list := range pairs(args["numa"]) {
		cpus := cpuset.MustParse(list)
		n := v1alpha1.NUMANode{ID: int32(scenario.Number(id)), CPUs: list}
		n.Capacity, n.Allocatable = int32(cpus.Len()), int32(cpus.Minus(reserved).Len())
		t.Status.NUMA = append(t.Status.NUMA, n)
	}
	for id, model := range strings.Split(args["cards"], ",") {
		if model != "" {
			t.Status.GPUs = append(t.Status.GPUs, v1alpha1.GPU{ID: fmt.Sprint(id), Model: model, Form: "physical"})
		}
	}
	for model, profile := range pairs(args["slices"]) {
		t.Status.GPUs = append(t.Status.GPUs, v1alpha1.GPU{ID: model + profile, Model: model, Form: "virtual", Type: gpu.SliceTypeName(model, profile)})
	}
	for uid, list := range pairs(args["holds"]) {
		t.Status.Pods = append(t.Status.Pods, v1alpha1.PodCPUs{UID: uid, Containers: []v1alpha1.ContainerCPUs{{Name: "main", CPUs: list}}})
	}
	return t
}

// pairs yields a:b,c:d in order.
func pairs(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for pair := range strings.SplitSeq(text, ",") {
			if a, b, ok := strings.Cut(pair, ":"); ok && !yield(a, b) {
				return
			}
		}
	}
}

func podOf(name string, args map[string]string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{}, Annotations: map[string]string{},
		CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)),
	}}
	list := corev1.ResourceList{"cpu": quantity(args["cpu"]), "memory": quantity("1Gi")}
	if gpus, ok := args["gpus"]; ok {
		list["nvidia.com/gpu"] = quantity(gpus)
	}
	for resource, amount := range pairs(args["parts"]) {
		list[corev1.ResourceName("nvidia.com/"+resource)] = quantity(amount)
	}
	p.Spec = corev1.PodSpec{NodeName: args["node"], SchedulerName: "ours", Containers: []corev1.Container{
		{Name: "main", Resources: corev1.ResourceRequirements{Limits: list, Requests: list}},
	}}
	if scheduler, ok := args["scheduler"]; ok {
		p.Spec.SchedulerName = scheduler
	}
	if init, ok := args["init"]; ok {
		first := corev1.ResourceList{"cpu": quantity(init), "memory": quantity("1Gi")}
		p.Spec.InitContainers = []corev1.Container{{Name: "first", Resources: corev1.ResourceRequirements{Limits: first, Requests: first}}}
	}
	p.Status.Phase = corev1.PodPhase(args["phase"])
	if second, ok := args["since"]; ok {
		at := metav1.NewTime(time.Unix(int64(scenario.Number(second)), 0))
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at}}
	}
	if name, ok := args["tenant"]; ok {
		p.Labels[v1alpha1.LabelTenant] = name
	}
	if name, ok := args["gang"]; ok {
		p.Labels[v1alpha1.LabelGang] = name
	}
	annotate(p, args)
	return p
}

func annotate(p *corev1.Pod, args map[string]string) {
	for option, name := range map[string]string{
		"policy": v1alpha1.AnnotationCPUPolicy, "static": v1alpha1.AnnotationConfigHash,
		"gpu-type": v1alpha1.AnnotationGPUType, "gpu-form": v1alpha1.AnnotationGPUForm, "least": v1alpha1.AnnotationGangMinAvailable,
	} {
		if value, ok := args[option]; ok {
			p.Annotations[name] = value
		}
	}
	if _, ok := args["gated"]; ok {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
	}
	if _, ok := args["deleting"]; ok {
		now := metav1.NewTime(time.Unix(2000, 0))
		p.DeletionTimestamp = &now
	}
	if text, ok := args["placement"]; ok {
		p.Annotations[v1alpha1.AnnotationPlacement] = placementOf(text)
	}
}

func placementOf(text string) string {
	counts := map[int]int{}
	for id, cpus := range pairs(text) {
		counts[scenario.Number(id)] = scenario.Number(cpus)
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
