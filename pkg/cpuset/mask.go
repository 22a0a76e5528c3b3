package cpuset

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maskGroupBits is the number of CPUs in one comma-separated group of a mask.
const maskGroupBits = 32

// ParseMask reads the kernel's mask format: hexadecimal groups of 32 bits, the highest CPUs first.
// "00000001,ffff0000" is the list 16-32. Leading zeros of a group may be left out. The empty string
// is the empty set. White space around the whole text is ignored. For any other text, ParseMask
// returns an error that contains the text, or the beginning of a very long text. Source:
// bitmap_print_to_pagebuf in
// https://github.com/torvalds/linux/blob/master/lib/bitmap-str.c
func ParseMask(mask string) (Set, error) {
	mask = strings.TrimSpace(mask)
	if mask == "" {
		return Set{}, nil
	}
	groups := strings.Split(mask, ",")
	if len(groups) > (int(MaxCPU)+1)/maskGroupBits {
		return Set{}, fmt.Errorf("parse cpu mask %.40q…: %d groups reach beyond CPU %d", mask, len(groups), MaxCPU)
	}
	words := make([]uint64, (len(groups)+1)/2)
	for i, group := range groups {
		bits, err := strconv.ParseUint(group, 16, maskGroupBits)
		if err != nil {
			return Set{}, fmt.Errorf("parse cpu mask %q: %q is not a 32-bit hexadecimal group", mask, group)
		}
		place := len(groups) - 1 - i
		words[place/2] |= bits << (place % 2 * maskGroupBits)
	}
	return trim(words), nil
}

// Mask writes a set in the kernel's mask format, which ParseMask reads. It leaves out leading
// groups of zeros, because the kernel refuses a mask with more groups than the machine's CPUs need.
func (s Set) Mask() string {
	var groups []string
	for _, word := range s.words {
		groups = append(groups, fmt.Sprintf("%08x", uint32(word)), fmt.Sprintf("%08x", uint32(word>>maskGroupBits)))
	}
	for len(groups) > 0 && groups[len(groups)-1] == "00000000" {
		groups = groups[:len(groups)-1]
	}
	slices.Reverse(groups)
	return cmp.Or(strings.Join(groups, ","), "0")
}
