package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// setLabel is a label of pods. The affinity and spread rules of a pod concern the pods with the
// same value of this label.
const setLabel = "numalet.test/set"

// mixed returns a small pod for a busy cluster. A set consists of the pods with the same value of
// setLabel. Of 20 consecutive pods, four have a rule about their node. Each of the four has a
// different rule. The rules are node affinity for two zones, anti-affinity to the pods of the set,
// an even spread over the zones, and affinity to the zone of the pods of the set.
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

// The function `apart` puts a pod into a set (see setLabel), and returns an anti-affinity that
// requires a node without other pods of this set.
func apart(pod *corev1.Pod, set string) *corev1.PodAntiAffinity {
	pod.Labels[setLabel] = set
	return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{setLabel: set}}, TopologyKey: corev1.LabelHostname,
	}}}
}

// The function `beside` returns an affinity that requires a zone with another pod that has the
// given labels.
func beside(labels map[string]string) *corev1.PodAffinity {
	return &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: corev1.LabelTopologyZone,
	}}}
}
