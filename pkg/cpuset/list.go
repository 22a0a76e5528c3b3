package cpuset

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxCPU is the largest CPU id that Parse and ParseMask accept. Without a limit, a malicious list
// such as "0-999999999" would allocate much memory. Linux on x86 has a limit of 8192 CPUs
// (CONFIG_NR_CPUS).
const MaxCPU CPU = 1<<16 - 1

// Parse reads the kernel's list format: "0-3,8,10-11". The empty string is the empty set. White
// space around the whole text is ignored, such as the trailing newline of a sysfs file. For any
// other text, Parse returns an error that contains the text. It also returns an error for groups
// such as "0-10:2/4". The kernel accepts such groups in its parameters, but never writes them.
// Source: https://docs.kernel.org/admin-guide/kernel-parameters.html (cpu lists).
func Parse(list string) (Set, error) {
	list = strings.TrimSpace(list)
	if list == "" {
		return Set{}, nil
	}
	var set Set
	for item := range strings.SplitSeq(list, ",") {
		first, last, err := parseItem(item)
		if err != nil {
			return Set{}, fmt.Errorf("parse cpu list %q: %w", list, err)
		}
		set = set.Union(Range(first, last))
	}
	return set, nil
}

// MustParse is like Parse, but panics if the text is invalid. It is meant for constants in code.
func MustParse(list string) Set {
	s, err := Parse(list)
	if err != nil {
		panic(err)
	}
	return s
}

func parseItem(item string) (first, last CPU, err error) {
	from, to, isRange := strings.Cut(item, "-")
	if first, err = parseCPU(from); err != nil || !isRange {
		return first, first, err
	}
	if last, err = parseCPU(to); err != nil {
		return 0, 0, err
	}
	if last < first {
		return 0, 0, fmt.Errorf("range %q runs backwards", item)
	}
	return first, last, nil
}

func parseCPU(text string) (CPU, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a CPU id", text)
	}
	if CPU(n) > MaxCPU {
		return 0, fmt.Errorf("CPU id %d is above %d", n, MaxCPU)
	}
	return CPU(n), nil
}

// String returns the set in the kernel's list format, such as "0-3,8". The empty set is "".
func (s Set) String() string {
	var b strings.Builder
	first, last := CPU(-1), CPU(-2)
	flush := func() {
		if first < 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(first)))
		if last > first {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(int(last)))
		}
	}
	for c := range s.All() {
		if c == last+1 {
			last = c
			continue
		}
		flush()
		first, last = c, c
	}
	flush()
	return b.String()
}

// MarshalText returns the set in the kernel's list format, so that a set in JSON is a string such
// as "0-3,8".
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the kernel's list format, as Parse does.
func (s *Set) UnmarshalText(text []byte) error {
	set, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = set
	return nil
}
