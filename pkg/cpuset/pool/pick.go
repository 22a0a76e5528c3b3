package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// PickOptions is one question to Pick.
type PickOptions struct {
	Policy    Policy
	CPUs      int
	Used      cpuset.Set // exclusive already
	Reserved  cpuset.Set // never exclusive
	Seed      uint64     // of Random
	FullCores bool
}

// Pick answers which CPUs a container would get on a machine, without a
// ledger to keep. The error is a *Refusal when the policy cannot be met.
func Pick(m *topology.Machine, o PickOptions) (cpuset.Set, error) {
	l, err := New(m, Options{Reserved: o.Reserved, FullCores: o.FullCores})
	if err != nil {
		return cpuset.Set{}, err
	}
	used := Grant{UID: "used", Claims: []Claim{{Container: "used", CPUs: o.Used}}}
	if err := l.Restore(used); err != nil {
		return cpuset.Set{}, err
	}
	g, err := l.Reserve(Pod{
		UID: "pick", Policy: o.Policy, Seed: o.Seed,
		Containers: []Want{{CPUs: o.CPUs}},
	})
	return g.CPUs(), err
}
