package propose

import (
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// accepted is a record that suited.
type accepted struct {
	slot   *nodestate.Slot
	record *sched.Node
}

// read reads a node's newest record and reports whether it suits. A record that
// does is kept: it is what the list vouches for, whatever comes after.
func (p *Proposer) read(n *distbucket.Node) bool {
	slot := n.Record.(*nodestate.Slot)
	record := slot.Newest()
	if record == nil || p.check(record).Refuses() {
		return false
	}
	p.accepted = append(p.accepted, accepted{slot, record})
	return true
}

// record returns a node's record as it was accepted last.
func (p *Proposer) record(slot *nodestate.Slot) *sched.Node {
	for i := len(p.accepted) - 1; ; i-- {
		if p.accepted[i].slot == slot {
			return p.accepted[i].record
		}
	}
}
