package forecast

import (
	"slices"
	"sort"
	"time"
)

// windowSize is how many run times are kept for a key (a class of pods or a set of classes). Older
// run times are dropped, because what users run changes.
const windowSize = 256

// window has the latest run times of a key (a class of pods or a set of classes).
//
// Invariant: the field `sorted` has the same times as the field `latest`, in ascending order.
type window struct {
	latest []time.Duration // ring buffer; once it is full (has windowSize elements), latest[next] is the oldest element
	next   int
	sorted []time.Duration
}

func (w *window) learn(took time.Duration) {
	if len(w.latest) < windowSize {
		w.latest = append(w.latest, took)
	} else {
		i, _ := slices.BinarySearch(w.sorted, w.latest[w.next])
		w.sorted = slices.Delete(w.sorted, i, i+1)
		w.latest[w.next] = took
		w.next = (w.next + 1) % windowSize
	}
	i, _ := slices.BinarySearch(w.sorted, took)
	w.sorted = slices.Insert(w.sorted, i, took)
}

// longer returns those run times in the window that are longer than the argument, in ascending
// order.
func (w *window) longer(than time.Duration) []time.Duration {
	return w.sorted[sort.Search(len(w.sorted), func(i int) bool { return w.sorted[i] > than }):]
}
