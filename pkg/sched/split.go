package sched

import "github.com/numalet/numalet/pkg/podspec"

// Span is which of a pod's cards a container gets: so many from the first on.
type Span struct {
	Container    string
	First, Count int
}

// Spans says which of a pod's cards each container gets: apps and sidecars have
// their own, and an init container those of the apps after it, beside the sidecars
// that run already.
func (a GPUAsk) Spans() []Span {
	spans := make([]Span, len(a.Wants))
	sidecars, apps := 0, 0
	for i, w := range a.Wants {
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

// Split says which container gets which of a pod's cards, by name, as Spans does.
// Where there are too few, for nobody tells some apart, the last ones get none.
// Which of the pod's cards a container gets is open to whoever hands them over, as
// the kubelet does where init containers come first.
func (a GPUAsk) Split(cards []GPUShare) map[string][]string {
	split := map[string][]string{}
	for _, s := range a.Spans() {
		for i := s.First; i < min(s.First+s.Count, len(cards)); i++ {
			split[s.Container] = append(split[s.Container], cards[i].ID)
		}
	}
	return split
}
