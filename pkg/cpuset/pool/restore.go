package pool

import (
	"errors"
	"fmt"
)

// Restore restores a grant after a restart of the agent. It returns an error and changes nothing if
// another pod holds CPUs of the grant, or if no CPU would stay shared. It also returns an error if
// the grant has no UID, or if containers of the pod that run at the same time have common CPUs.
// CPUs of the grant that have become reserved or offline are restored too (see Warnings). If the
// pod already has a grant, Restore replaces it.
func (l *Ledger) Restore(g Grant) error {
	if err := l.restorable(g); err != nil {
		return fmt.Errorf("restore pod %s: %w", g.UID, err)
	}
	before, had := l.grants[g.UID]
	l.Release(g.UID)
	l.enter(g)
	if !l.Shared().Empty() {
		return nil
	}
	l.Release(g.UID)
	if had {
		l.enter(before)
	}
	return fmt.Errorf("restore pod %s: its CPUs %s would leave no CPU to the containers that share", g.UID, g.CPUs())
}

func (l *Ledger) restorable(g Grant) error {
	if g.UID == "" {
		return errors.New("it has no UID")
	}
	for i, c := range g.Claims {
		for j := range i {
			if beside(g.Claims, i, j) && c.held().Overlaps(g.Claims[j].held()) {
				return fmt.Errorf("containers %s and %s run together and both hold CPUs %s",
					g.Claims[j].Container, c.Container, c.held().Intersect(g.Claims[j].held()))
			}
		}
	}
	for _, other := range l.Grants() {
		if both := g.CPUs().Intersect(other.CPUs()); other.UID != g.UID && !both.Empty() {
			return fmt.Errorf("pod %s holds CPUs %s too", other.UID, both)
		}
	}
	return nil
}

// Warnings returns messages about pods that hold CPUs which no pod would get now. Such CPUs are
// reserved, offline, missing, or in no NUMA node. The messages are sorted by pod UID.
func (l *Ledger) Warnings() []string {
	var all []string
	for _, g := range l.Grants() {
		if off := g.CPUs().Minus(l.layout.online); !off.Empty() {
			all = append(all, fmt.Sprintf("pod %s holds CPUs %s, which are offline", g.UID, off))
		}
		if lost := g.CPUs().Intersect(l.layout.online).Minus(l.layout.placed); !lost.Empty() {
			all = append(all, fmt.Sprintf("pod %s holds CPUs %s, which are in no NUMA node", g.UID, lost))
		}
		if both := g.CPUs().Intersect(l.options.Reserved); !both.Empty() {
			all = append(all, fmt.Sprintf("pod %s holds CPUs %s, which are reserved now", g.UID, both))
		}
	}
	return all
}
