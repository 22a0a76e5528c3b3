package gpu

import (
	"cmp"
	"fmt"
	"slices"
)

// Inventory is a node's GPUs. It is immutable. The zero value is that of a node
// without GPUs or without a driver.
type Inventory struct {
	Driver string // version, such as "570.86.15"
	CUDA   string // the newest version that the driver supports, such as "12.8"
	GPUs   []GPU  // by index
	Links  Links  // the links between the GPUs, by their indexes in GPUs; nil if unknown
}

// Check returns an error if an inventory is inconsistent: an ID is missing or not
// unique, or Links is not a symmetric table of all GPUs.
func (v *Inventory) Check() error {
	seen := map[string]bool{}
	for i := range v.GPUs {
		for _, id := range v.GPUs[i].ids() {
			if id == "" || seen[id] {
				return fmt.Errorf("check GPU %d: UUID %q is empty or not unique", v.GPUs[i].Index, id)
			}
			seen[id] = true
		}
	}
	if v.Links == nil {
		return nil
	}
	return v.Links.check(len(v.GPUs))
}

// WithLost returns a copy of v that also has the GPUs that an earlier inventory has and v lacks.
// These are as they were in the earlier inventory. While a GPU is missing, the driver may number
// the other GPUs differently. So that an index always means the same GPU, each GPU of the earlier
// inventory gets the Index that it had there. If no GPU is missing, WithLost returns v.
func (v *Inventory) WithLost(earlier *Inventory) *Inventory {
	all := *v
	all.GPUs, all.Links = slices.Clone(v.GPUs), nil
	present, before := v.positions(), earlier.positions()
	for _, gpu := range earlier.GPUs {
		if _, found := present[gpu.UUID]; !found {
			all.GPUs = append(all.GPUs, gpu)
		}
	}
	if len(all.GPUs) == len(v.GPUs) {
		return v
	}
	for i := range all.GPUs {
		if at, known := before[all.GPUs[i].UUID]; known {
			all.GPUs[i].Index = earlier.GPUs[at].Index
		}
	}
	slices.SortStableFunc(all.GPUs, func(a, b GPU) int { return cmp.Compare(a.Index, b.Index) })
	if v.Links != nil || earlier.Links != nil {
		all.Links = all.linksFrom(v, earlier)
	}
	return &all
}

// linksFrom returns the links between the GPUs of v. It takes each link from the first of the
// sources that has both GPUs.
func (v *Inventory) linksFrom(sources ...*Inventory) Links {
	table := make(Links, len(v.GPUs))
	for a := range table {
		table[a] = make([]Link, len(v.GPUs))
	}
	for _, from := range slices.Backward(sources) {
		at := from.positions()
		for a := range v.GPUs {
			for b := range v.GPUs {
				i, hasA := at[v.GPUs[a].UUID]
				j, hasB := at[v.GPUs[b].UUID]
				if hasA && hasB {
					table[a][b] = from.Links.between(i, j)
				}
			}
		}
	}
	return table
}

// positions returns the position of each GPU in v.GPUs, by UUID.
func (v *Inventory) positions() map[string]int {
	at := map[string]int{}
	for i := range v.GPUs {
		at[v.GPUs[i].UUID] = i
	}
	return at
}

// Find returns the position in v.GPUs of the GPU that has the given ID. The ID is the UUID of the
// GPU or of one of its slices. Find may visit all GPUs and slices.
func (v *Inventory) Find(id string) (position int, found bool) {
	for i := range v.GPUs {
		for _, own := range v.GPUs[i].ids() {
			if own == id {
				return i, true
			}
		}
	}
	return 0, false
}

// WithHealth returns a copy of the inventory in which the health of each GPU and slice is replaced.
// For each of them, it calls the given function with the UUID and the previous health. The function
// returns the new health.
func (v *Inventory) WithHealth(of func(id string, was Health) Health) *Inventory {
	next := *v
	next.GPUs = slices.Clone(v.GPUs)
	for i := range next.GPUs {
		c := &next.GPUs[i]
		c.Health = of(c.UUID, c.Health)
		c.Slices = slices.Clone(c.Slices)
		for j := range c.Slices {
			s := &c.Slices[j]
			s.Health = of(s.UUID, s.Health)
		}
	}
	return &next
}

// The method Only returns an inventory with the GPUs at these indexes and no others, in this order.
func (v *Inventory) Only(gpus []int) *Inventory {
	only := &Inventory{Driver: v.Driver, CUDA: v.CUDA}
	for _, a := range gpus {
		only.GPUs = append(only.GPUs, v.GPUs[a])
		if v.Links == nil {
			continue
		}
		row := make([]Link, 0, len(gpus))
		for _, b := range gpus {
			row = append(row, v.Links[a][b])
		}
		only.Links = append(only.Links, row)
	}
	return only
}
