package sched

import "github.com/numalet/numalet/pkg/podspec"

// Span is the range of a pod's cards that a container gets: Count cards from index
// First on.
type Span struct {
	Container    string
	First, Count int
}

// Spans returns which of a pod's cards each container gets. App containers and
// sidecars get cards of their own. An init container reuses the cards of later app containers. It
// shares no cards with sidecars that already run.
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

// Split returns the IDs of the cards of each container, by container name, in the
// ranges of Spans. If cards without an ID are missing from the list, the last
// containers get fewer. The result is a suggestion: the kubelet may assign the pod's
// cards to containers differently, for example if init containers come first.
func (a GPURequest) Split(cards []GPUShare) map[string][]string {
	split := map[string][]string{}
	for _, s := range a.Spans() {
		for i := s.First; i < min(s.First+s.Count, len(cards)); i++ {
			split[s.Container] = append(split[s.Container], cards[i].ID)
		}
	}
	return split
}
