package e2eutil

import (
	"fmt"
	"slices"
	"time"
)

// Use is the time for which a container had a device.
type Use struct {
	Device, Pod string
	From, To    time.Time
}

// UsedTwice describes the uses of a device that overlap in time: each use with the first later one
// that overlaps it. Times may be rounded down to the same unit, as in a pod's status, so uses that
// only touch do not count.
func UsedTwice(uses []Use) (sentences []string) {
	inOrder := slices.SortedFunc(slices.Values(uses), func(a, b Use) int { return a.From.Compare(b.From) })
	last := map[string]Use{} // by device: the use that ends last
	for _, u := range inOrder {
		before, used := last[u.Device]
		if used && u.From.Before(before.To) && before.From.Before(u.To) {
			sentences = append(sentences, fmt.Sprintf("%s was used by %s until %s, and by %s from %s",
				u.Device, before.Pod, before.To.Format(time.TimeOnly), u.Pod, u.From.Format(time.TimeOnly)))
		}
		if !used || u.To.After(before.To) {
			last[u.Device] = u
		}
	}
	return sentences
}
