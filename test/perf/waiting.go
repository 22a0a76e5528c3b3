package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

const (
	// waitingNamespace is the namespace of the pods that fit no node. It differs from the namespace
	// of the backlog, so that only the pods of the backlog and their events are counted.
	waitingNamespace = "perf-waiting"
	// gangLabel is a label of the nodes that the waiting gang (a group of pods that start together)
	// selects.
	gangLabel = "numalet.test/gang"
	// gangRoom is the largest number of nodes with gangLabel. Each member of the gang needs a node
	// of its own.
	gangRoom = 200
)

// makeWaiting creates n pods that fit no node. For Numalet it also creates a gang (a group of pods
// that start together) with one member more than there are nodes for the gang. For kube-scheduler
// it creates no gang, because kube-scheduler has no gangs: it would bind all members but one, so
// they would not wait.
func (f *field) makeWaiting(ctx context.Context, c contender, n int) error {
	err := f.plane.MakePods(ctx, waitingNamespace, n, func(i int) *corev1.Pod { return unplaceable(c.scheduler, i) })
	if err != nil || c.name != ourName {
		return err
	}
	members := f.gangNodes() + 1
	return f.plane.MakePods(ctx, waitingNamespace, members, func(i int) *corev1.Pod { return gangMember(c.scheduler, i, members) })
}

// settle creates l.waiting pods that fit no node. It runs the contender until each of these pods has
// the condition that it is unschedulable, but no longer than the time limit. So these pods wait
// already when the measured process of the contender starts. Otherwise this process would have to
// write this condition of thousands of pods while it binds the backlog. In a real cluster, pods that
// have waited for a while have the condition already.
func (f *field) settle(ctx context.Context, c contender, l load) error {
	if l.waiting == 0 {
		return nil
	}
	s, err := c.start(ctx, f, l)
	if err != nil {
		return err
	}
	settled := func() error {
		if err := awaitIdle(ctx, s.process); err != nil {
			return err
		}
		if err := f.makeWaiting(ctx, c, l.waiting); err != nil {
			return err
		}
		if _, err := s.fire(ctx); err != nil {
			return err
		}
		return f.awaitConditions(ctx)
	}
	return errors.Join(settled(), s.process.Stop(10*time.Second))
}

// awaitConditions waits until all pods that fit no node have the condition that they are
// unschedulable, or until the time limit.
func (f *field) awaitConditions(ctx context.Context) error {
	for end := time.Now().Add(f.Limit); ; time.Sleep(time.Second) {
		pods, err := f.api.CoreV1().Pods(waitingNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		silent := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return len(p.Status.Conditions) > 0 })
		if len(silent) == 0 {
			return nil
		}
		if time.Now().After(end) {
			say("%d pods that fit no node have no condition yet", len(silent))
			return nil
		}
	}
}

// unplaceable returns the i-th pod that fits no node. A third of these pods request more CPUs than
// a node has, a third have a nodeSelector that matches no node, and a third require affinity to a
// pod that never exists.
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
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: beside(map[string]string{"app": "never"})}
	}
	return pod
}

// gangMember returns the i-th member of the waiting gang. Each member requires a node with
// gangLabel and without other members.
func gangMember(scheduler string, i, members int) *corev1.Pod {
	pod := hollowcluster.Pod(waitingNamespace, fmt.Sprintf("gang-%05d", i), scheduler, "100m", 0)
	pod.Labels[v1alpha1.LabelGang] = "too-large"
	pod.Annotations[v1alpha1.AnnotationGangMinAvailable] = strconv.Itoa(members)
	pod.Spec.NodeSelector = map[string]string{gangLabel: "room"}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: apart(pod, "gang")}
	return pod
}

// forGang reports whether the i-th node gets gangLabel. The nodes with gangLabel are less full than
// the average and have no taint.
func forGang(i int) bool { return i%5 < 2 && i < gangRoom/2*5 }

// gangNodes returns how many nodes have gangLabel.
func (f *field) gangNodes() int {
	n := 0
	for i := range f.Nodes {
		if forGang(i) {
			n++
		}
	}
	return n
}
