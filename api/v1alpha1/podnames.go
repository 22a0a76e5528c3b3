package v1alpha1

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// knownAnnotations returns the annotations under numalet.dev/ that a pod may have. Callers must not
// change the result.
var knownAnnotations = sync.OnceValue(func() []string {
	return append([]string{
		AnnotationCPUPolicy, AnnotationSharedContainers, AnnotationMemoryPolicy, AnnotationIsolation, AnnotationPlacement,
	}, withoutCPUs()...)
})

// withoutCPUs returns the annotations under numalet.dev/ that a pod may have and that say
// nothing about CPUs.
func withoutCPUs() []string {
	return []string{
		AnnotationRejectedAt, AnnotationGPUType, AnnotationGPUForm, AnnotationGPUGroup, AnnotationCandidateNodes,
		AnnotationGangMinAvailable,
	}
}

// MayRequest reports whether a pod or pod sandbox has an annotation under numalet.dev/
// that is about CPUs or unknown. An unknown annotation may be a misspelt one. Without such
// an annotation, a pod can still request exclusive CPUs by limits per NUMA node. That
// request shows in the annotations that the device plugin adds to the container: see
// ParseAllocated.
func MayRequest(annotations map[string]string) bool {
	for name := range annotations {
		if strings.HasPrefix(name, Group+"/") && !slices.Contains(withoutCPUs(), name) {
			return true
		}
	}
	return false
}

// checkNames refuses unknown annotations under numalet.dev/, and annotations that were
// set as labels. Without this check, a pod with a misspelt annotation would run on
// shared CPUs.
func checkNames(pod *corev1.Pod) error {
	known := knownAnnotations()
	unknown := func(name string) bool { return strings.HasPrefix(name, Group+"/") && !slices.Contains(known, name) }
	if name := first(pod.Annotations, unknown); name != "" {
		return refuse(UnknownAnnotation, "", "the annotation %s is unknown; did you mean %s?", name, nearest(name, known))
	}
	if name := first(pod.Labels, func(name string) bool { return slices.Contains(known, name) }); name != "" {
		return refuse(UnknownAnnotation, "", "%s is a label of the pod; make it an annotation", name)
	}
	return nil
}

// first returns the first key, in alphabetical order, for which the function given as
// match returns true. It returns "" if there is none.
func first(values map[string]string, match func(key string) bool) (found string) {
	for key := range values {
		if match(key) && (found == "" || key < found) {
			found = key
		}
	}
	return found
}

// nearest returns the candidate with the smallest edit distance from name. If several
// candidates have this distance, it returns the first of them.
func nearest(name string, candidates []string) string {
	return slices.MinFunc(candidates, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance returns the Levenshtein distance between a and b in bytes. It takes
// len(a)·len(b) steps.
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
