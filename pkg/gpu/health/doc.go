// Package health tracks the health of a node's GPUs: which GPU or MIG slice has a
// fault, and what clears it.
//
// It processes events and probes that an adapter has read from the driver. It does
// not access the driver or a clock. A fault belongs to the MIG slice that the
// driver names, else to the GPU, and ends when a probe finds the GPU healthy.
//
//	t := health.New(inventory, time.Minute)
//	changed := t.ObserveEvent(health.Event{GPU: uuid, Kind: health.Xid, Xid: 94, Instance: health.Of(1, 0)}, now)
//	changed = t.ObserveProbe(uuid, health.Probe{Answers: true, Action: health.NoAction}, later)
//	inventory = t.Apply(inventory)
//
// tracker.go is the API, event.go and probe.go its inputs, fault.go the state.
package health
