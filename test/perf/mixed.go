package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// setLabel groups the pods whose rules concern each other.
const setLabel = "numalet.test/set"

// mixed returns a small pod for a busy cluster. Of 20 consecutive pods, four have a rule, each a
// different one: a zone, a node without other pods of its set, an even spread over the zones, and
// the zone of the other pods of its set.
func mixed(i int, scheduler string) *corev1.Pod {
	pod := hollowcluster.Pod(namespace, podName(i), scheduler, "100m", 0)
	switch i % 20 {
	case 0:
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"z0", "z1"},
			}}}},
		}}}
	case 5:
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: apart(pod, "apart")}
	case 10:
		pod.Labels[setLabel] = "spread"
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{setLabel: "spread"}},
		}}
	case 15:
		pod.Labels[setLabel] = "together"
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: beside(map[string]string{setLabel: "together"})}
	}
	return pod
}

// apart puts a pod into a set, and requires a node without others of it.
func apart(pod *corev1.Pod, set string) *corev1.PodAntiAffinity {
	pod.Labels[setLabel] = set
	return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{setLabel: set}}, TopologyKey: corev1.LabelHostname,
	}}}
}

// beside requires that the pod's zone has another pod with certain labels.
func beside(labels map[string]string) *corev1.PodAffinity {
	return &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: corev1.LabelTopologyZone,
	}}}
}
