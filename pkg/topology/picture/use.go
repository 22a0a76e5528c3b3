package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Use says which container or pod holds which CPUs and GPUs of a machine. CPUs that nobody holds
// are drawn as reserved or as shared.
type Use struct {
	Reserved cpuset.Set // CPUs that only the system and containers with shared CPUs may use
	Held     []Holder   // the first one has the letter A in the picture
	// Paint adds the colour of a holder to a text, for example with escape sequences of a terminal.
	// The holder is given as an index of Held. On the screen, the result must be as wide as the
	// text without colour. If Paint is nil, the picture has no colours.
	Paint func(holder int, text string) string
}

// Holder is a container with exclusive CPUs, or a pod with GPUs.
type Holder struct {
	Name string // such as "default/training main"
	CPUs cpuset.Set
	GPUs []string // UUIDs of the GPUs that the holder has entirely or in part
}

// letters is the number of different letters for holders. If there are more holders, several of
// them have the same letter.
const letters = 26

// letter returns the letter of the holder Use.Held[i].
func letter(i int) string { return string(rune('A' + i%letters)) }

// holder returns the index in u.Held of the first holder of a CPU. It returns -1 if there is none.
func (u *Use) holder(cpu cpuset.CPU) int {
	return slices.IndexFunc(u.Held, func(h Holder) bool { return h.CPUs.Has(cpu) })
}

// holders returns the indexes in u.Held of the holders of a GPU. A GPU can have several holders,
// each with time-sliced shares, MPS shares or MIG slices of the GPU.
func (u *Use) holders(uuid string) (found []int) {
	if u == nil {
		return nil
	}
	for i, h := range u.Held {
		if slices.Contains(h.GPUs, uuid) {
			found = append(found, i)
		}
	}
	return found
}

// Mark returns the suffix for a CPU's number in the picture. The suffix is the letter of the CPU's
// holder, r if the CPU is reserved, or otherwise a dot.
func (u *Use) Mark(cpu cpuset.CPU) string {
	switch i := u.holder(cpu); {
	case i >= 0:
		return u.paint(i, letter(i))
	case u.Reserved.Has(cpu):
		return "r"
	}
	return "·"
}

func (u *Use) paint(holder int, text string) string {
	if u.Paint == nil {
		return text
	}
	return u.Paint(holder, text)
}

// Legend returns a line for each holder, such as "A default/training main CPUs 2,4,8,12".
func (u *Use) Legend() (lines []string) {
	for i, h := range u.Held {
		lines = append(lines, fmt.Sprintf("%s  %s  %s", u.paint(i, letter(i)), h.Name, h.what()))
	}
	return lines
}

// The method `what` returns a text that lists what the holder has, such as "CPUs 2,4 · 1 GPU".
func (h Holder) what() string {
	var parts []string
	if !h.CPUs.Empty() {
		parts = append(parts, "CPUs "+h.CPUs.String())
	}
	if n := len(h.GPUs); n > 0 {
		parts = append(parts, count(n, "GPU"))
	}
	return strings.Join(parts, " · ")
}
