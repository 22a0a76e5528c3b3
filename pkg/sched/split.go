package sched

import "github.com/numalet/numalet/pkg/podspec"

// Span is the part of a pod's list of GPUs that a container gets. It has Count GPUs, and First is
// the index of the first one.
type Span struct {
	Container    string
	First, Count int
}

// Spans returns which of a pod's GPUs each container gets. An app container or a sidecar gets GPUs
// that no other app container or sidecar gets. An init container can share GPUs with the
// containers that start after it, but not with sidecars that start before it.
func (a GPURequest) Spans() []Span {
	spans := make([]Span, len(a.PerContainer))
	sidecars, apps := 0, 0
	for i, w := range a.PerContainer {
		spans[i] = Span{w.Container, sidecars, w.Count}
		switch w.Kind {
		case podspec.Sidecar:
			sidecars += w.Count
		case podspec.App:
			spans[i].First += apps
			apps += w.Count
		}
	}
	return spans
}

// Split divides the GPUs of a pod among its containers as Spans says, and returns the IDs of the
// GPUs of each container, by container name. If the argument has fewer GPUs than the pod requests,
// because GPUs without an ID are left out, the last containers get fewer GPUs than they request.
// The result is a suggestion: the kubelet may assign the pod's GPUs to containers differently, for
// example if init containers come first.
func (a GPURequest) Split(gpus []GPUShare) map[string][]string {
	split := map[string][]string{}
	for _, s := range a.Spans() {
		for i := s.First; i < min(s.First+s.Count, len(gpus)); i++ {
			split[s.Container] = append(split[s.Container], gpus[i].ID)
		}
	}
	return split
}
