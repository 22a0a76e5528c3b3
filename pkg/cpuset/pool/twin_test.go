package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// twin is a simple implementation of Ledger, for comparison. A map has the UID of the pod that
// holds each CPU, and every answer is computed CPU by CPU. A twin does not choose CPUs: tests pass
// it the grants of the ledger.
type twin struct {
	machine *topology.Machine
	options Options
	owner   map[cpuset.CPU]string
}

func newTwin(m *topology.Machine, o Options) *twin {
	return &twin{machine: m, options: o, owner: map[cpuset.CPU]string{}}
}

func (t *twin) reserve(g Grant) {
	for _, c := range g.Claims {
		for cpu := range c.CPUs.All() {
			t.owner[cpu] = g.UID
		}
	}
}

// set replaces the CPUs of a pod in the twin, after a resize.
func (t *twin) set(g Grant) {
	t.release(g.UID)
	for _, c := range g.Claims {
		for _, cpus := range []cpuset.Set{c.CPUs, c.Leaving} {
			for cpu := range cpus.All() {
				t.owner[cpu] = g.UID
			}
		}
	}
}

func (t *twin) release(uid string) cpuset.Set {
	var back []cpuset.CPU
	for cpu, owner := range t.owner {
		if owner == uid {
			back = append(back, cpu)
			delete(t.owner, cpu)
		}
	}
	return cpuset.Of(back...)
}

// books is the state that must be equal in a ledger and its twin.
type books struct {
	Exclusive, Shared, Free cpuset.Set
	Available               map[topology.NodeID]int
}

func stateOf(l *Ledger) books {
	return books{l.Exclusive(), l.Shared(), l.Free(), l.Available()}
}

func (t *twin) state() books {
	var exclusive, shared, free []cpuset.CPU
	available := map[topology.NodeID]int{}
	for _, c := range t.machine.CPUs {
		if c.Online && c.NUMA != topology.Unknown {
			available[c.NUMA] += 0
		}
		switch {
		case t.owner[c.ID] != "":
			exclusive = append(exclusive, c.ID)
			continue
		case !c.Online || t.options.FullCores && t.coreHeld(c):
			continue
		case t.free(c):
			free = append(free, c.ID)
			available[c.NUMA]++
		}
		if !c.Isolated || t.options.Reserved.Has(c.ID) {
			shared = append(shared, c.ID)
		}
	}
	return books{cpuset.Of(exclusive...), cpuset.Of(shared...), cpuset.Of(free...), available}
}

func (t *twin) free(c topology.CPU) bool {
	if !t.options.FullCores {
		return !t.stays(c)
	}
	for _, s := range t.machine.CPUs {
		if s.Core == c.Core && t.stays(s) {
			return false
		}
	}
	return true
}

// stays reports whether a CPU is always shared, because it is reserved or in no NUMA node.
func (t *twin) stays(c topology.CPU) bool {
	return c.Online && c.NUMA == topology.Unknown || t.options.Reserved.Has(c.ID)
}

func (t *twin) coreHeld(c topology.CPU) bool {
	for _, s := range t.machine.CPUs {
		if s.Core == c.Core && t.owner[s.ID] != "" {
			return true
		}
	}
	return false
}
