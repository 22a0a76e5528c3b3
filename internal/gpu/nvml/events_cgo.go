//go:build cgo

package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu/health"
)

// faultEvents selects the driver events that report a fault.
const faultEvents = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError | nvml.EventTypeGpuUnavailableError

// noInstance is the instance ID in events that do not concern a MIG instance.
const noInstance = 0xFFFFFFFF

// register registers for a GPU's events, if that was not done before. If the registration fails,
// the next call of Inventory tries again. Until then, only probes find faults of the GPU.
func (d *driver) register(uuid string, gpu nvml.Device) error {
	if !d.watch(gpu, uuid) {
		return nil
	}
	supported, ret := gpu.GetSupportedEventTypes()
	if ret == nvml.SUCCESS {
		ret = gpu.RegisterEvents(supported&faultEvents, d.events)
	}
	if ret != nvml.SUCCESS {
		d.unwatch(gpu)
		return fmt.Errorf("register for events of GPU %s: %w; its health is only polled", uuid, ret)
	}
	return nil
}

// watch adds a GPU to the watched GPUs, and reports whether the GPU is new among them.
// The caller registers for the events of the GPU only after this call, because the
// function `event` finds the UUID of an event's GPU among the watched GPUs.
func (d *driver) watch(gpu nvml.Device, uuid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, watched := d.mu.watched[gpu]
	d.mu.watched[gpu] = uuid
	return !watched
}

func (d *driver) unwatch(gpu nvml.Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.mu.watched, gpu)
}

func (d *driver) Next(wait time.Duration) (health.Event, bool, error) {
	data, ret := d.events.Wait(uint32(wait.Milliseconds()))
	switch ret {
	case nvml.SUCCESS:
	case nvml.ERROR_TIMEOUT:
		return health.Event{}, false, nil
	default:
		return health.Event{}, false, fmt.Errorf("wait for GPU events: %w", ret)
	}
	return d.event(data), true, nil
}

// event translates an event of NVML. The event has the handle of the GPU, by which the function
// finds the UUID among the watched GPUs. It does not ask NVML for the UUID, because NVML does not
// return the UUID of a lost GPU.
func (d *driver) event(data nvml.EventData) health.Event {
	d.mu.Lock()
	e := health.Event{GPU: d.mu.watched[data.Device]}
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

// instance returns the ID of a MIG instance as package health represents it. It
// returns -1 if the event does not concern a MIG instance.
func instance(id uint32) int {
	if id == noInstance {
		return -1
	}
	return int(id)
}
