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
	Container string   // the container's name, by which a group can name it, or ""
	Form      gpu.Form // AnyForm means Virtual if less than a whole GPU is requested, and else Physical
	sched.GPURequest
}

// form returns the requested form, where AnyForm is replaced by Physical or Virtual.
func (r Request) form() gpu.Form {
	switch {
	case r.Form != gpu.AnyForm:
		return r.Form
	case r.Milli < sched.WholeGPU:
		return gpu.Virtual
	}
	return gpu.Physical
}

// amount returns how much of one GPU the request takes: a whole GPU, a whole slice or a
// share of a GPU. The caller passes the form and the type of the GPU. The result is
// false if the request is for another form or type.
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

// String returns a text such as "2 physical GPUs of type T4", for messages.
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
