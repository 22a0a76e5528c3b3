package sched

import "github.com/numalet/numalet/pkg/cpuset/pool"

// Split says which container gets which of a pod's cards, by name: apps and sidecars
// have their own, and an init container those of the apps after it, beside the
// sidecars that run already. Where there are too few, for nobody tells some apart,
// the last ones get none. Which of the pod's cards a container gets is open to
// whoever hands them over, as the kubelet does where init containers come first.
func (a GPUAsk) Split(cards []GPUShare) map[string][]string {
	split := map[string][]string{}
	sidecars, apps := 0, 0
	for _, w := range a.Wants {
		switch w.Kind {
		case pool.Init:
			split[w.Container] = ids(cards, sidecars, w.Count)
		case pool.Sidecar:
			split[w.Container] = ids(cards, sidecars, w.Count)
			sidecars += w.Count
		case pool.App:
			split[w.Container] = ids(cards, sidecars+apps, w.Count)
			apps += w.Count
		}
	}
	return split
}

// ids returns the ids of n cards from the first on, or of as many as there are.
func ids(cards []GPUShare, first, n int) []string {
	var names []string
	for i := first; i < min(first+n, len(cards)); i++ {
		names = append(names, cards[i].ID)
	}
	return names
}
