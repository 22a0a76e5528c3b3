// Package health is what is known of the health of a node's GPUs: which card or
// MIG slice has a fault, since when, and what makes it well again.
//
// It knows events and probes as an adapter got them from the driver; it refuses
// to ask the driver and to read a clock. A fault is its slice's where the driver
// names one, else its card's, and it ends: by a probe that finds the card well.
//
//	w := health.New(inventory, time.Minute)
//	changed := w.Note(health.Event{Card: uuid, Kind: health.Xid, Xid: 94, Instance: health.Of(1, 0)}, now)
//	changed = w.Probe(uuid, health.Probe{Answers: true, Action: health.NoAction}, later)
//	inventory = w.Apply(inventory)
package health
