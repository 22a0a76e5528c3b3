package sched

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unique"
)

// Extended counts resources by their full names. It is sorted by name and has no
// duplicates. Values share it, so it is never changed. nil counts nothing.
//
// With 100,000 nodes a record is rarely in the processor's cache when it is read.
// The counts are therefore contiguous, and all nodes and pods share one string per
// name. A lookup then costs one cache miss, while a map costs one each for its
// header, its slots and the key.
type Extended []extra

// extra is the amount of one resource. It keeps the handle instead of the string:
// package unique may drop a name without handles, and its next handle then refers
// to another string.
type extra struct {
	name  unique.Handle[string]
	count int64
}

// ExtendedOf returns the counts of a map, including zeros. It returns nil for an
// empty map.
func ExtendedOf(counts map[string]int64) Extended {
	if len(counts) == 0 {
		return nil
	}
	e := make(Extended, 0, len(counts))
	for name, count := range counts {
		e = append(e, extra{unique.Make(name), count})
	}
	slices.SortFunc(e, extra.compare)
	return e
}

// Of returns the count of a resource, or 0 if it is not counted. The search is
// linear because there are few resources. A name from All or from a unique.Handle
// is compared by its address alone.
func (e Extended) Of(name string) int64 {
	for _, x := range e {
		if x.name.Value() == name {
			return x.count
		}
	}
	return 0
}

// All returns names and counts, sorted by name.
func (e Extended) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, x := range e {
			if !yield(x.name.Value(), x.count) {
				return
			}
		}
	}
}

// Equal reports whether both count the same resources with the same amounts. A
// resource with count 0 differs from one that is not counted.
func (e Extended) Equal(other Extended) bool { return slices.Equal(e, other) }

// String returns, for example, "ephemeral-storage 3, example.com/nic 1".
func (e Extended) String() string {
	var all []string
	for name, count := range e.All() {
		all = append(all, fmt.Sprintf("%s %d", name, count))
	}
	return strings.Join(all, ", ")
}

// plus returns e + sign × other in O(len(e) + len(other)) time, without overflow. Resources whose
// count becomes 0 stay. The result is e itself where other is empty.
func (e Extended) plus(other Extended, sign int64) Extended {
	if len(other) == 0 {
		return e
	}
	total := make(Extended, 0, max(len(e), len(other))) // one usually has all names of the other
	for _, x := range other {
		for len(e) > 0 && e[0].compare(x) < 0 {
			total, e = append(total, e[0]), e[1:]
		}
		before := int64(0)
		if len(e) > 0 && e[0].name == x.name {
			before, e = e[0].count, e[1:]
		}
		x.count = sum(before, x.count, sign)
		total = append(total, x)
	}
	return append(total, e...)
}

func (x extra) compare(other extra) int {
	if x.name == other.name {
		return 0
	}
	return strings.Compare(x.name.Value(), other.name.Value())
}
