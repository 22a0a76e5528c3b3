package health

import (
	"time"

	"github.com/numalet/numalet/pkg/gpu"
)

// lost is the name of the fault of a GPU that does not answer probes.
const lost = "the GPU does not answer"

// Tracker records the faults of a node's GPUs and slices. It is not safe for concurrent
// use.
type Tracker struct {
	minFault  time.Duration
	inventory *gpu.Inventory
	units     map[string]*unit // by UUID
}

// New returns a Tracker in which the health of all GPUs is unknown. A fault lasts for
// at least minFault after its last report, unless the GPU is reset.
func New(inventory *gpu.Inventory, minFault time.Duration) *Tracker {
	t := &Tracker{minFault: minFault, inventory: inventory, units: map[string]*unit{}}
	for i := range inventory.GPUs {
		for _, id := range t.ids(i) {
			t.units[id] = &unit{}
		}
	}
	return t
}

// SetInventory replaces the inventory of the node. GPUs and slices that were in the
// previous inventory keep their health.
func (t *Tracker) SetInventory(inventory *gpu.Inventory) {
	known := t.units
	*t = *New(inventory, t.minFault)
	for id := range t.units {
		if u := known[id]; u != nil {
			t.units[id] = u
		}
	}
}

// ObserveEvent processes an event and returns the IDs of the GPUs and slices whose
// health it changed. It ignores events that are not faults, and events of GPUs that
// are not in the inventory.
func (t *Tracker) ObserveEvent(e Event, at time.Time) []string {
	device, found := t.inventory.Find(e.GPU)
	remedy, name := e.classify()
	if !found || remedy == none {
		return nil
	}
	return t.change(device, func() {
		for _, id := range t.affected(device, e.Instance) {
			t.units[id].add(fault{name: name, remedy: remedy, last: at})
		}
	})
}

// ObserveProbe processes a probe of a GPU and returns the IDs of the GPUs and
// slices whose health it changed.
func (t *Tracker) ObserveProbe(device string, p Probe, at time.Time) []string {
	position, found := t.inventory.Find(device)
	if !found {
		return nil
	}
	return t.change(position, func() {
		own := t.units[t.inventory.GPUs[position].UUID]
		if !p.Answers {
			own.add(fault{name: lost, detail: p.Error, remedy: probe, last: at})
			return
		}
		own.advice = p.Action.advice()
		for _, id := range t.ids(position) {
			t.units[id].probed = true
			t.units[id].remove(func(f fault) bool {
				return p.clears(f.remedy) && (p.Reset || at.Sub(f.last) >= t.minFault)
			})
		}
	})
}

// Health returns the health of a GPU or slice. For a slice, it leaves out faults of
// its GPU. Before the first probe, the health is unknown unless an event has reported
// a fault.
func (t *Tracker) Health(id string) gpu.Health {
	if u := t.units[id]; u != nil {
		return u.health()
	}
	return gpu.Health{}
}

// Apply returns a copy of an inventory in which each GPU and slice has the health that the Tracker
// has recorded.
func (t *Tracker) Apply(inventory *gpu.Inventory) *gpu.Inventory {
	return inventory.WithHealth(func(id string, _ gpu.Health) gpu.Health { return t.Health(id) })
}

// ids returns the IDs of a GPU and of its slices.
func (t *Tracker) ids(device int) []string {
	c := &t.inventory.GPUs[device]
	ids := []string{c.UUID}
	for _, slice := range c.Slices {
		ids = append(ids, slice.UUID)
	}
	return ids
}

// affected returns the IDs of the slices that an Instance of an event includes. If it includes no
// known slice, the fault counts for the GPU as a whole, so affected returns the ID of the GPU.
func (t *Tracker) affected(device int, instance Instance) []string {
	c := &t.inventory.GPUs[device]
	var ids []string
	for _, slice := range c.Slices {
		if instance.covers(slice.GPUInstance, slice.ComputeInstance) {
			ids = append(ids, slice.UUID)
		}
	}
	if len(ids) == 0 {
		return []string{c.UUID}
	}
	return ids
}

// change calls the function given as `do`. It compares the health of the GPU and its slices before
// and after the call, and returns the IDs of those whose health has changed.
func (t *Tracker) change(device int, do func()) []string {
	ids := t.ids(device)
	before := make([]gpu.Health, len(ids))
	for i, id := range ids {
		before[i] = t.Health(id)
	}
	do()
	var changed []string
	for i, id := range ids {
		if t.Health(id) != before[i] {
			changed = append(changed, id)
		}
	}
	return changed
}
