package sched

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unique"
)

// Extended counts resources by their full names, sorted by name, none twice. It is
// shared between values and never changed; nil counts nothing.
//
// Among 100,000 nodes the record that is looked at is in no processor's cache. So its
// counts are in one piece, and a name is one string for all nodes and pods: to find a
// count waits for memory once, where a map waits for its head, its slots and the key.
type Extended []extra

// extra is how much there is of one resource. It has the handle, not the string: once
// nobody has a handle to a name, the next one made is to another string.
type extra struct {
	name  unique.Handle[string]
	count int64
}

// ExtendedOf counts what a map has, zeros too; nil where it is empty.
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

// Of returns the count of a resource, 0 where there is none. It looks through all, for
// they are few; a name from All or a unique.Handle it knows by its address.
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

// Equal reports whether both count the same; a 0 that is counted is not one that is not.
func (e Extended) Equal(other Extended) bool { return slices.Equal(e, other) }

// String is "ephemeral-storage 3, example.com/nic 1".
func (e Extended) String() string {
	var all []string
	for name, count := range e.All() {
		all = append(all, fmt.Sprintf("%s %d", name, count))
	}
	return strings.Join(all, ", ")
}

// plus adds sign times other, in time of both lengths. What becomes 0 stays. The result
// is e itself where other is empty.
func (e Extended) plus(other Extended, sign int64) Extended {
	if len(other) == 0 {
		return e
	}
	sum := make(Extended, 0, max(len(e), len(other))) // mostly one has all names of the other
	for _, x := range other {
		for len(e) > 0 && e[0].compare(x) < 0 {
			sum, e = append(sum, e[0]), e[1:]
		}
		x.count *= sign
		if len(e) > 0 && e[0].name == x.name {
			x.count += e[0].count
			e = e[1:]
		}
		sum = append(sum, x)
	}
	return append(sum, e...)
}

func (x extra) compare(other extra) int {
	if x.name == other.name {
		return 0
	}
	return strings.Compare(x.name.Value(), other.name.Value())
}
