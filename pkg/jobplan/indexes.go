package jobplan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Indexes is a sorted set of pod indexes. Its text form, such as "0-2,5", is the same as in the
// field status.completedIndexes of a batch/v1 Job.
type Indexes []int

// Has reports whether the set contains an index.
func (s Indexes) Has(index int) bool {
	_, found := slices.BinarySearch(s, index)
	return found
}

// The method With returns the set with the given index added.
func (s Indexes) With(index int) Indexes {
	at, found := slices.BinarySearch(s, index)
	if found {
		return s
	}
	return slices.Insert(slices.Clone(s), at, index)
}

// The method Below returns how many indexes in the set are less than n.
func (s Indexes) Below(n int) int {
	at, _ := slices.BinarySearch(s, n)
	return at
}

// String returns the text form of the set, such as "0-2,5". It returns "" for an empty set.
func (s Indexes) String() string {
	var parts []string
	for i := 0; i < len(s); {
		first := i
		for i++; i < len(s) && s[i] == s[i-1]+1; i++ {
		}
		part := strconv.Itoa(s[first])
		if i-first > 1 {
			part += "-" + strconv.Itoa(s[i-1])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// ParseIndexes returns the set that has the given text form. Indexes are at most 65,535.
func ParseIndexes(text string) (Indexes, error) {
	if text == "" {
		return nil, nil
	}
	var set Indexes
	for part := range strings.SplitSeq(text, ",") {
		first, last, err := parseRange(part)
		if err == nil && (first > last || len(set) > 0 && first <= set[len(set)-1]) {
			err = fmt.Errorf("%s is out of order", part)
		}
		if err != nil {
			return nil, fmt.Errorf("read indexes %q: %w", text, err)
		}
		for i := first; i <= last; i++ {
			set = append(set, i)
		}
	}
	return set, nil
}

// parseRange reads a single index, such as "2", or a range of indexes, such as "0-2".
func parseRange(part string) (first, last int, err error) {
	from, to, isRange := strings.Cut(part, "-")
	if !isRange {
		to = from
	}
	a, err := strconv.ParseUint(from, 10, 16)
	if err != nil {
		return 0, 0, err
	}
	b, err := strconv.ParseUint(to, 10, 16)
	return int(a), int(b), err
}
