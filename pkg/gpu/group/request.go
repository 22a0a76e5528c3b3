package group

import (
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// Request is the GPUs that one container requests. All of them come from one node.
type Request struct {
	Tenant    string
	Group     string   // the group that the pod names, or ""
	Container string   // the identifier by which a group may name the container, or ""
	Form      gpu.Form // AnyForm means a share if less than a GPU is requested, else GPUs
	sched.GPURequest
}

// form returns the requested form.
func (r Request) form() gpu.Form {
	switch {
	case r.Form != gpu.AnyForm:
		return r.Form
	case r.Milli < sched.WholeGPU:
		return gpu.Virtual
	}
	return gpu.Physical
}

// amount returns how much of one GPU the request takes: all of a GPU or a slice, or a
// share of a GPU. It returns false if the GPU's form or type is not the requested one.
func (r Request) amount(of gpu.Form, kind string) (sched.MilliGPU, bool) {
	if r.Types != nil && !slices.Contains(r.Types, kind) {
		return 0, false
	}
	switch {
	case r.form() == gpu.Physical:
		return sched.WholeGPU, of == gpu.Physical
	case of == gpu.Virtual:
		return sched.WholeGPU, true
	}
	return r.Milli, r.Milli < sched.WholeGPU
}

// String returns "2 physical GPUs of type T4", for messages.
func (r Request) String() string {
	text := fmt.Sprintf("%d %s GPUs", r.Count, r.form())
	if r.Count == 1 {
		text = fmt.Sprintf("1 %s GPU", r.form())
	}
	for i, kind := range r.Types {
		text += [...]string{" of type ", " or "}[min(i, 1)] + kind
	}
	return text
}
