package gpu

import (
	"fmt"
	"strings"
)

// Form is the form of a GPU or of a request for GPUs. It says whether whole GPUs are meant, or
// parts of GPUs.
type Form uint8

// The forms of a GPU. In a request, AnyForm means that the request sets no form: the request then
// counts as Virtual if it asks for less than a whole GPU, and else as Physical.
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

// ParseForm parses "physical" and "virtual". For any other text, it returns an error
// that names these two words.
func ParseForm(text string) (Form, error) {
	for _, f := range []Form{Physical, Virtual} {
		if f.String() == text {
			return f, nil
		}
	}
	return AnyForm, fmt.Errorf("parse GPU form %q: want one of %s, %s", text, Physical, Virtual)
}

// TypeName returns the type of the GPUs of a model, such as "NVIDIA-H100-80GB-HBM3" for
// the model "NVIDIA H100 80GB HBM3". It is the value of the node label
// nvidia.com/gpu.product, which NVIDIA's GPU feature discovery sets. So node selectors,
// quotas and annotations use the same name. Characters that a label value cannot have
// become "-".
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

// SliceTypeName returns the type of the MIG slices of a model and profile, such as
// "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb".
func SliceTypeName(model, profile string) string {
	return TypeName(model) + "-MIG-" + ProfileName(profile)
}

// ProfileName returns the name of a MIG profile as it is written in types and resources. These
// names cannot have the character "+", which some profiles have. For example, the name of the
// profile 1g.10gb+me is "1g.10gb.me". Its resource is nvidia.com/mig-1g.10gb.me, as in NVIDIA's
// device plugin.
// https://github.com/NVIDIA/k8s-device-plugin/blob/main/internal/rm/rm.go
func ProfileName(profile string) string {
	return TypeName(strings.ReplaceAll(profile, "+", "."))
}
