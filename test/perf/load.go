package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// gpuLoad is the name of the load whose pods request one GPU each.
const gpuLoad = "gpu"

// load is the kind of pods in the backlog, and how busy the cluster is.
type load struct {
	name    string
	pod     func(i int, scheduler string) *corev1.Pod
	fill    int // percentage to which the nodes are full on average
	waiting int // number of pods outside of the backlog; they fit no node, so they wait during the whole round
}

// loads returns the loads in the order in which they are run.
func loads(o options) []load {
	if !o.busy() {
		return emptyLoads()
	}
	var all []load
	for _, percent := range o.Fill {
		l := load{name: fmt.Sprintf("%d %% full", percent), pod: mixed, fill: percent}
		all = append(all, l)
		if o.Waiting > 0 {
			l.name, l.waiting = fmt.Sprintf("%s, %d waiting", l.name, o.Waiting), o.Waiting
			all = append(all, l)
		}
	}
	return all
}

func emptyLoads() []load {
	return []load{
		{name: "plain", pod: func(i int, scheduler string) *corev1.Pod {
			return hollowcluster.Pod(namespace, podName(i), scheduler, "100m", 0)
		}},
		{name: gpuLoad, pod: func(i int, scheduler string) *corev1.Pod {
			return hollowcluster.Pod(namespace, podName(i), scheduler, "100m", 1)
		}},
		{name: "single", pod: func(i int, scheduler string) *corev1.Pod {
			pod := hollowcluster.Pod(namespace, podName(i), scheduler, "2", 0)
			pod.Annotations[v1alpha1.AnnotationCPUPolicy] = v1alpha1.PolicySingle
			return pod
		}},
	}
}

// possible reports whether a contender can be measured with a load. The pods of the load "single"
// need all their CPUs on one NUMA node, and only Numalet decides by NUMA nodes. A client cannot be
// measured in a busy cluster, because it ignores whether a node is full.
func (l load) possible(c contender) bool {
	if l.name == "single" {
		return c.name == ourName
	}
	return l.fill == 0 || c.scheduler != ""
}

// usual reports whether a contender is measured with a load if -only is not set. kube-scheduler
// with other settings than the default is measured with only one load in an empty cluster, and with
// only one load in a busy cluster. This is enough to show whether the settings matter. All settings
// with all loads would take more than half an hour.
func (l load) usual(c contender) bool {
	variant := strings.HasPrefix(c.name, kubeName+",")
	switch {
	case l.fill > 0:
		return !variant || l.fill == 50 && l.waiting == 0
	case l.name == gpuLoad:
		return !variant && c.name != "floor, no events"
	}
	return true
}
