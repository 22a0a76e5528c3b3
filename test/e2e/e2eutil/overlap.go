package e2eutil

import (
	"fmt"
	"slices"
)

// Overlaps finds pairs of containers: one has a CPU exclusively, and the other could run on this
// CPU at the same time. It names the first Sample (one reading of the CPUs that a container may
// use) that shows this. Overlaps also describes each exclusive container whose CPUs changed while
// it ran. The exclusive container surely has its CPUs from its first to its last sample. A sample
// of another container counts only if it was read in this time, so there are no false positives.
func Overlaps(lives []Life) []string {
	var found []string
	for _, holder := range lives {
		if !holder.Exclusive {
			continue
		}
		found = append(found, changes(holder)...)
		for _, other := range lives {
			if s, ok := firstOverlap(holder, other); ok {
				found = append(found, fmt.Sprintf("%s saw CPUs %v at %d, of which %v were exclusive to %s",
					other, s.CPUs, s.From, s.CPUs.Intersect(holder.Born()), holder))
			}
		}
	}
	return found
}

func changes(l Life) []string {
	i := slices.IndexFunc(l.Samples, func(s Sample) bool { return !s.CPUs.Equal(l.Born()) })
	if i < 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s is exclusive and was born on %v, but saw %v at %d", l, l.Born(), l.Samples[i].CPUs, l.Samples[i].From)}
}

func firstOverlap(holder, other Life) (Sample, bool) {
	from, to := holder.Samples[0].From, holder.Samples[len(holder.Samples)-1].From
	if &holder.Samples[0] == &other.Samples[0] {
		return Sample{}, false
	}
	for _, s := range other.Samples {
		if from <= s.From && s.To <= to && s.CPUs.Overlaps(holder.Born()) {
			return s, true
		}
	}
	return Sample{}, false
}

// Moved describes every container with exclusive CPUs that had different CPUs after it was
// restarted.
func Moved(lives []Life) []string {
	first := map[string]Life{}
	var found []string
	for _, l := range lives {
		if !l.Exclusive {
			continue
		}
		if before, ok := first[l.String()]; !ok {
			first[l.String()] = l
		} else if !before.Born().Equal(l.Born()) {
			found = append(found, fmt.Sprintf("%s was born on %v, and again on %v", l, before.Born(), l.Born()))
		}
	}
	return found
}
