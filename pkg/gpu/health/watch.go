package health

import (
	"time"

	"github.com/numalet/numalet/pkg/gpu"
)

// lost is the fault of a card that does not answer.
const lost = "the GPU does not answer"

// Watch keeps the faults of a node's cards and slices. It is not safe for
// concurrent use.
type Watch struct {
	settle    time.Duration
	inventory *gpu.Inventory
	units     map[string]*unit // by UUID
}

// New returns a Watch of which nothing is known yet. A fault ends no sooner than
// settle after it was last reported, unless the card was reset.
func New(v *gpu.Inventory, settle time.Duration) *Watch {
	w := &Watch{settle: settle, inventory: v, units: map[string]*unit{}}
	for i := range v.Cards {
		for _, id := range w.family(i) {
			w.units[id] = &unit{}
		}
	}
	return w
}

// Follow turns to a newer inventory of the node: cards and slices that were there
// before keep what is known of them.
func (w *Watch) Follow(v *gpu.Inventory) {
	known := w.units
	*w = *New(v, w.settle)
	for id := range w.units {
		if u := known[id]; u != nil {
			w.units[id] = u
		}
	}
}

// Note takes in an event and returns the ids of the cards and slices whose
// health it changed. An event of a card that is not in the inventory changes
// nothing.
func (w *Watch) Note(e Event, at time.Time) []string {
	card, found := w.inventory.Find(e.Card)
	cure, name := e.judge()
	if !found || cure == none {
		return nil
	}
	return w.change(card, func() {
		for _, id := range w.meant(card, e.Instance) {
			w.units[id].note(fault{name: name, cure: cure, last: at})
		}
	})
}

// Probe takes in how a card was found, and returns the ids of the cards and
// slices whose health it changed.
func (w *Watch) Probe(card string, p Probe, at time.Time) []string {
	position, found := w.inventory.Find(card)
	if !found {
		return nil
	}
	return w.change(position, func() {
		own := w.units[w.inventory.Cards[position].UUID]
		if !p.Answers {
			own.note(fault{name: lost, detail: p.Error, cure: probe, last: at})
			return
		}
		own.advice = p.Action.advice()
		for _, id := range w.family(position) {
			w.units[id].probed = true
			w.units[id].end(func(f fault) bool {
				return p.cures(f.cure) && (p.Reset || at.Sub(f.last) >= w.settle)
			})
		}
	})
}

// Health returns the health of a card or slice by itself; it is unknown until a
// first probe.
func (w *Watch) Health(id string) gpu.Health {
	if u := w.units[id]; u != nil {
		return u.health()
	}
	return gpu.Health{}
}

// Apply returns the inventory with the health of all its cards and slices.
func (w *Watch) Apply(v *gpu.Inventory) *gpu.Inventory {
	return v.WithHealth(func(id string, _ gpu.Health) gpu.Health { return w.Health(id) })
}
