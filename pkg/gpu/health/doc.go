// Package health tracks the health of a node's GPUs: which GPU or MIG slice has a
// fault, and what clears it.
//
// The package processes events and probes that another package, such as internal/gpu/nvml, has read
// from the driver. It does not access the driver or a clock. If the driver names a MIG slice, the
// fault is that of the slice, and otherwise that of the GPU. A fault ends when a probe finds that
// the GPU is healthy. Within a set time after the last report of the fault, such a probe does not
// end the fault, unless the GPU was reset.
//
//	t := health.New(inventory, time.Minute)
//	changed := t.ObserveEvent(health.Event{GPU: uuid, Kind: health.Xid, Xid: 94, Instance: health.Of(1, 0)}, now)
//	changed = t.ObserveProbe(uuid, health.Probe{Answers: true, Action: health.NoAction}, later)
//	inventory = t.Apply(inventory)
//
// tracker.go has the Tracker, event.go and probe.go have its inputs, and fault.go has
// the state of a GPU.
package health
