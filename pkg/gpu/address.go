package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// Address is a PCI address as sysfs spells it: "0000:3b:00.0", which is
// domain:bus:device.function in lower case, the domain in four digits or more.
type Address string

// ParseAddress reads a PCI address in any spelling. NVML's has a domain of eight
// digits and capital letters, "00000000:3B:00.0".
func ParseAddress(text string) (Address, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '.' })
	if len(fields) != 4 || strings.Count(text, ":") != 2 || strings.Count(text, ".") != 1 {
		return "", fmt.Errorf("parse PCI address %q: want domain:bus:device.function", text)
	}
	var n [4]uint64
	for i, bits := range [4]int{32, 8, 5, 3} {
		number, err := strconv.ParseUint(fields[i], 16, bits)
		if err != nil {
			return "", fmt.Errorf("parse PCI address %q: %q is not a hexadecimal number of %d bits", text, fields[i], bits)
		}
		n[i] = number
	}
	return Address(fmt.Sprintf("%04x:%02x:%02x.%x", n[0], n[1], n[2], n[3])), nil
}
