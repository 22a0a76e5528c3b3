package pool

import (
	"errors"
	"fmt"
)

// Restore restores a grant from before a restart. It returns an error and changes nothing
// if the grant overlaps another pod's, if containers of the pod that run at the same time
// overlap, or if no CPU would stay shared. CPUs that were reserved or went offline
// meanwhile stay held (see Warnings), because a container runs on them. Restoring the same
// pod again replaces its grant.
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

// Warnings returns a message for each pod that holds CPUs it would not get now: CPUs that
// are reserved, offline, gone, or in no NUMA node. Messages are sorted by pod UID.
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
