package picture

import (
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Use is the use of a machine's CPUs. CPUs without a holder are shared, including
// reserved ones.
type Use struct {
	Reserved cpuset.Set // never exclusive
	Held     []Holder   // of exclusive CPUs; the first is A
}

// Holder is a container with exclusive CPUs.
type Holder struct {
	Name string // such as "default/training main"
	CPUs cpuset.Set
}

// letters is the number of distinct letters; further holders reuse them.
const letters = 26

// letter returns the letter of the holder at an index.
func letter(i int) string { return string(rune('A' + i%letters)) }

// holder returns the index of the first holder of a CPU, or -1.
func (u *Use) holder(c cpuset.CPU) int {
	for i, h := range u.Held {
		if h.CPUs.Has(c) {
			return i
		}
	}
	return -1
}

// Mark returns the suffix of a CPU's number: the letter of its holder, r if it is
// reserved, or a dot if it is shared.
func (u *Use) Mark(c cpuset.CPU) string {
	switch i := u.holder(c); {
	case i >= 0:
		return letter(i)
	case u.Reserved.Has(c):
		return "r"
	}
	return "·"
}

// Legend returns a line for each holder, "A  default/training main  2,4,8,12".
func (u *Use) Legend() (lines []string) {
	for i, h := range u.Held {
		lines = append(lines, fmt.Sprintf("%s  %s  %s", letter(i), h.Name, h.CPUs))
	}
	return lines
}
