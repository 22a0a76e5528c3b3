package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// waitingNamespace has the pods that cannot be placed. They have a namespace of their own, so
// that only the pods of the backlog and their events are counted.
const waitingNamespace = "perf-waiting"

// busy returns a load with pods that wait beside the backlog. It is for schedulers: a client
// would bind them.
func busy(l load, waiting int) load {
	return load{name: fmt.Sprintf("%s, %d waiting", l.name, waiting), pod: l.pod, waiting: waiting}
}

// makeWaiting creates pods that nothing can place: a third requests more CPUs than a node
// has, a third selects no node, and a third requires a neighbor that never comes.
func (f *field) makeWaiting(ctx context.Context, scheduler string, n int) error {
	if n == 0 {
		return nil
	}
	return f.plane.MakePods(ctx, waitingNamespace, n, func(i int) *corev1.Pod { return unplaceable(scheduler, i) })
}

func unplaceable(scheduler string, i int) *corev1.Pod {
	cpus := "100m"
	if i%3 == 0 {
		cpus = "1000"
	}
	pod := hollowcluster.Pod(waitingNamespace, fmt.Sprintf("waiting-%05d", i), scheduler, cpus, 0)
	switch i % 3 {
	case 1:
		pod.Spec.NodeSelector = map[string]string{"numalet.test/none": "none"}
	case 2:
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "never"}}, TopologyKey: corev1.LabelTopologyZone,
		}}}}
	}
	return pod
}
