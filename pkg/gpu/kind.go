package gpu

import (
	"fmt"
	"strings"
)

// Form says whether a request is for a whole GPU or for a part of one.
type Form uint8

// The forms. The zero value matches both in a request.
const (
	AnyForm  Form = iota
	Physical      // a whole GPU
	Virtual       // a MIG slice, or a share of a GPU
)

// String returns "physical", "virtual", or "any".
func (f Form) String() string {
	switch f {
	case Physical:
		return "physical"
	case Virtual:
		return "virtual"
	}
	return "any"
}

// ParseForm is the inverse of String for Physical and Virtual. The error lists
// both.
func ParseForm(text string) (Form, error) {
	for _, f := range []Form{Physical, Virtual} {
		if f.String() == text {
			return f, nil
		}
	}
	return AnyForm, fmt.Errorf("parse GPU form %q: want one of %s, %s", text, Physical, Virtual)
}

// TypeName returns the type of a GPU of a model, such as "NVIDIA-H100-80GB-HBM3".
// It is the value of the label nvidia.com/gpu.product of NVIDIA's feature
// discovery, so that node selectors, quotas and annotations use the same name.
// Characters that a label cannot have become "-".
// https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery
func TypeName(model string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, strings.TrimSpace(model))
	return strings.Trim(name, "-_.")
}

// SliceTypeName returns the type of a MIG slice, "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb".
func SliceTypeName(model, profile string) string {
	return TypeName(model) + "-MIG-" + ProfileName(profile)
}

// ProfileName returns a MIG profile in the form for names of types and resources,
// which cannot have all characters of a profile: "1g.10gb.me" is 1g.10gb+me, and
// its resource is nvidia.com/mig-1g.10gb.me, as in NVIDIA's device plugin.
// https://github.com/NVIDIA/k8s-device-plugin/blob/main/internal/rm/rm.go
func ProfileName(profile string) string {
	return TypeName(strings.ReplaceAll(profile, "+", "."))
}
