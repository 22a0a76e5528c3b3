//go:build cgo

package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu/health"
)

// wanted are the events that mean a fault.
const wanted = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError | nvml.EventTypeGpuUnavailableError

// noInstance is what the driver reports where an event names no MIG instance.
const noInstance = 0xFFFFFFFF

// register asks for a card's events, once. A card that reports none is left to
// the probes.
func (d *driver) register(uuid string, card nvml.Device) error {
	d.mu.Lock()
	_, known := d.mu.watched[card]
	d.mu.watched[card] = uuid
	d.mu.Unlock()
	if known {
		return nil
	}
	supported, ret := card.GetSupportedEventTypes()
	if ret == nvml.SUCCESS {
		ret = card.RegisterEvents(supported&wanted, d.events)
	}
	if ret != nvml.SUCCESS {
		return fmt.Errorf("subscribe to events of %s, which is looked at from time to time only: %w", uuid, ret)
	}
	return nil
}

func (d *driver) Next(wait time.Duration) (health.Event, bool, error) {
	data, ret := d.events.Wait(uint32(wait.Milliseconds()))
	switch ret {
	case nvml.SUCCESS:
	case nvml.ERROR_TIMEOUT:
		return health.Event{}, false, nil
	default:
		return health.Event{}, false, fmt.Errorf("wait for events: %w", ret)
	}
	return d.event(data), true, nil
}

// event translates an event. Its card is known by its handle: a card that was
// lost does not tell its name any more.
func (d *driver) event(data nvml.EventData) health.Event {
	d.mu.Lock()
	e := health.Event{Card: d.mu.watched[data.Device]}
	d.mu.Unlock()
	e.Instance = health.Of(instance(data.GpuInstanceId), instance(data.ComputeInstanceId))
	switch data.EventType {
	case nvml.EventTypeXidCriticalError:
		e.Kind, e.Xid = health.Xid, data.EventData
	case nvml.EventTypeDoubleBitEccError:
		e.Kind = health.DoubleBit
	default:
		e.Kind = health.Unavailable
	}
	return e
}

// instance returns a driver's id as package health wants it.
func instance(id uint32) int {
	if id == noInstance {
		return -1
	}
	return int(id)
}
