package e2eutil

import (
	"fmt"
	"slices"
	"time"
)

// Use is the period in which a pod had a device.
type Use struct {
	Device, Pod string
	From, To    time.Time
}

// UsedTwice describes uses of the same device that overlap in time. It goes through the uses of a
// device in the order in which they began. It compares each use with only one of the earlier uses,
// the one that ends last: a use that overlaps any earlier use also overlaps this one. Times in a
// pod's status are rounded down to seconds. So two uses do not count as an overlap if one begins at
// the time at which the other ends.
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
