package group

import (
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// Group keeps GPUs of one form for the containers of some tenants. Groups may
// hold the same nodes, and the same GPUs.
type Group struct {
	Name    string
	Tenants []string
	Form    gpu.Form // Physical or Virtual
	Type    string   // the only type of GPU in it, or "" for any
	// Containers are the identifiers of the only containers it is for; nil is any.
	Containers []string
	Bindings   []Binding
	// Quota is the most that one tenant may hold of it; 0 is no limit.
	Quota sched.MilliGPU
}

// Binding is GPUs of one node.
type Binding struct {
	Node string
	// GPUs are UUIDs of cards or slices, or indexes of cards. A card in MIG mode
	// stands for its slices.
	GPUs []string
}
