package sched

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unique"
)

// Extended has the amounts of resources by their full names. It is sorted by name and has no
// duplicates. Several Amounts may share one Extended, so it is never changed. A nil Extended has no
// amounts.
//
// With 100,000 nodes, a node's record (Node) is rarely in the processor's cache when it is read.
// Therefore, Extended is a slice and not a map, and all nodes and pods share one string per name. A
// lookup in the slice costs one cache miss. A lookup in a map would cost three: for the map's
// header, its slots and the key.
type Extended []extra

// extra is the amount of one resource. It keeps a unique.Handle of the resource's name and not only
// the string, because package unique may drop a string to which no handle refers. If the name were
// then used again, its new handle would refer to a different copy of the string, and names could
// not be compared by address.
type extra struct {
	name  unique.Handle[string]
	count int64
}

// ExtendedOf returns an Extended with the amounts in a map, including zeros. It returns nil for an
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

// The method Of returns the amount of a resource, or 0 if e does not have the resource. It
// searches linearly, because there are few resources. If the argument comes from All or from a
// unique.Handle, it is the same string in memory as the equal name in e, and the comparison need
// not read the bytes of the names.
func (e Extended) Of(name string) int64 {
	for _, x := range e {
		if x.name.Value() == name {
			return x.count
		}
	}
	return 0
}

// The method All yields the names and amounts of the resources, sorted by name.
func (e Extended) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, x := range e {
			if !yield(x.name.Value(), x.count) {
				return
			}
		}
	}
}

// Equal reports whether e and `other` have the same resources with the same amounts. A resource with
// the amount 0 differs from a missing resource.
func (e Extended) Equal(other Extended) bool { return slices.Equal(e, other) }

// String returns, for example, "ephemeral-storage 3, example.com/nic 1".
func (e Extended) String() string {
	var all []string
	for name, count := range e.All() {
		all = append(all, fmt.Sprintf("%s %d", name, count))
	}
	return strings.Join(all, ", ")
}

// plus returns e + sign × other. An amount that does not fit an int64 becomes the nearest int64.
// The method visits each element of e and of `other` once. A resource whose amount becomes 0 stays
// in the result. If `other` is empty, the result is e itself.
func (e Extended) plus(other Extended, sign int64) Extended {
	if len(other) == 0 {
		return e
	}
	total := make(Extended, 0, max(len(e), len(other))) // usually e or `other` has all names that occur in either of them, so this capacity is enough
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
