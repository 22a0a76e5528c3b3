package distbucket

import (
	"math/rand/v2"
	"testing"
)

// FuzzTwin makes the same random changes of an Index and of the simple implementation of
// an index (type naive), and compares their answers to queries. The fuzzer's input decides
// how many changes and queries there are, and in which order.
func FuzzTwin(f *testing.F) {
	f.Add(uint64(1), []byte{0, 0, 0, 1, 2, 0, 3})
	f.Add(uint64(9), []byte("add, update, remove, view, ask"))
	f.Fuzz(func(t *testing.T, seed uint64, script []byte) {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 0)))
		view, twin := w.x.View(), w.twin.copy()
		for _, c := range script[:min(len(script), 200)] {
			switch c % 8 {
			case 0:
				w.compare(view, twin)
			case 1:
				view, twin = w.x.View(), w.twin.copy()
			default:
				for range c {
					w.change()
				}
			}
		}
		w.x.check(t)
		w.compare(w.x.View(), w.twin)
	})
}
