package propose

import (
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
	"github.com/numalet/numalet/pkg/sched/center"
)

// accepted is a record that suited.
type accepted struct {
	slot   *center.Slot
	record *sched.Node
}

// read reads a node's newest record and reports whether it suits. A record that
// does is kept: it is what the list vouches for, whatever comes after.
func (p *Proposer) read(n *bucket.Node) bool {
	slot := n.Record.(*center.Slot)
	record := slot.Newest()
	if record == nil || p.check(record).Refuses() {
		return false
	}
	p.accepted = append(p.accepted, accepted{slot, record})
	return true
}

// record returns a node's record as it was accepted last.
func (p *Proposer) record(slot *center.Slot) *sched.Node {
	for i := len(p.accepted) - 1; ; i-- {
		if p.accepted[i].slot == slot {
			return p.accepted[i].record
		}
	}
}
