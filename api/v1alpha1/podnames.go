package v1alpha1

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// knownAnnotations are all the names under numalet.dev/ that a pod may carry.
func knownAnnotations() []string {
	return []string{
		AnnotationCPUPolicy, AnnotationSharedContainers, AnnotationMemoryPolicy, AnnotationPlacement, AnnotationRejectedAt,
		AnnotationGPUType, AnnotationGPUForm, AnnotationGPUGroup, AnnotationCandidateNodes,
		AnnotationGangMinAvailable,
	}
}

// MayAsk reports whether the annotations of a pod, or of its sandbox, concern
// Numalet at all: whether any name is under numalet.dev/. It is false for a pod
// that asks explicitly and carries none; the device plugin's annotations on the
// container show that one (ParseAllocated).
func MayAsk(annotations map[string]string) bool {
	for name := range annotations {
		if strings.HasPrefix(name, Group+"/") {
			return true
		}
	}
	return false
}

// checkNames refuses names under numalet.dev/ that mean nothing: a misspelt ask
// must not run unpinned.
func checkNames(pod *corev1.Pod) error {
	known := knownAnnotations()
	for _, name := range slices.Sorted(maps.Keys(pod.Annotations)) {
		if strings.HasPrefix(name, Group+"/") && !slices.Contains(known, name) {
			return refuse(UnknownAnnotation, "", "the annotation %s is unknown; did you mean %s?", name, nearest(name, known))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pod.Labels)) {
		if slices.Contains(known, name) {
			return refuse(UnknownAnnotation, "", "%s is a label of the pod; make it an annotation", name)
		}
	}
	return nil
}

// nearest returns the candidate with the smallest edit distance, the first of equals.
func nearest(name string, candidates []string) string {
	return slices.MinFunc(candidates, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance is the Levenshtein distance in bytes. O(len(a)·len(b)).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
