package group

import (
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// Ask is what one container asks for. All of it comes from one node.
type Ask struct {
	Tenant    string
	Group     string   // the one that it names, or ""
	Container string   // its identifier, by which a group may name it, or ""
	Form      gpu.Form // AnyForm: a share where less than a card is asked for, else cards
	sched.GPUAsk
}

// form returns the form asked for.
func (a Ask) form() gpu.Form {
	switch {
	case a.Form != gpu.AnyForm:
		return a.Form
	case a.Milli < sched.WholeGPU:
		return gpu.Virtual
	}
	return gpu.Physical
}

// amount returns how much of one GPU the ask takes, and false where the GPU does
// not suit it whatever is free: all of a card or of a slice, or a share of a card.
func (a Ask) amount(of gpu.Form, kind string) (sched.MilliGPU, bool) {
	if a.Types != nil && !slices.Contains(a.Types, kind) {
		return 0, false
	}
	switch {
	case a.form() == gpu.Physical:
		return sched.WholeGPU, of == gpu.Physical
	case of == gpu.Virtual:
		return sched.WholeGPU, true
	}
	return a.Milli, a.Milli < sched.WholeGPU
}

// String returns "2 physical GPUs of type T4", for refusals.
func (a Ask) String() string {
	text := fmt.Sprintf("%d %s GPUs", a.Count, a.form())
	if a.Count == 1 {
		text = fmt.Sprintf("1 %s GPU", a.form())
	}
	for i, kind := range a.Types {
		text += [...]string{" of type ", " or "}[min(i, 1)] + kind
	}
	return text
}
