package pool

import (
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// PickOptions are the arguments of Pick.
type PickOptions struct {
	Policy    podspec.Policy
	CPUs      int
	Used      cpuset.Set // CPUs that are already exclusive
	Reserved  cpuset.Set // CPUs that Pick does not choose
	Seed      uint64     // seed for the choices of podspec.Random
	FullCores bool
}

// Pick returns the CPUs that a container would get on a machine. It needs no ledger of the machine.
// If no choice of free CPUs satisfies the policy, the error is a *numaplan.Refusal. Any other error
// means that o.Used or o.Reserved is invalid, or that no NUMA node has an online CPU.
func Pick(m *topology.Machine, o PickOptions) (cpuset.Set, error) {
	l, err := New(m, Options{Reserved: o.Reserved, FullCores: o.FullCores})
	if err != nil {
		return cpuset.Set{}, err
	}
	if strange := o.Used.Minus(idsOf(m.CPUs)); !strange.Empty() {
		return cpuset.Set{}, fmt.Errorf("take CPUs %q as used: this machine has no CPU %s", o.Used, strange)
	}
	used := Grant{UID: "used", Claims: []Claim{{Container: "used", CPUs: o.Used}}}
	if err := l.Restore(used); err != nil {
		return cpuset.Set{}, fmt.Errorf("take CPUs %q as used: no CPU would be left to share, nor for the request", o.Used)
	}
	g, err := l.Reserve(Pod{
		UID: "pick", Policy: o.Policy, Seed: o.Seed,
		Containers: []podspec.Container{{CPUs: o.CPUs}},
	})
	return g.CPUs(), err
}
