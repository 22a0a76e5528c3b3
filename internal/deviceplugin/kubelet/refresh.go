package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// refresh reads what there is and what the kubelet has allocated, and publishes
// what follows. A kubelet that does not answer is believed to hold what it held.
// What one source cannot read does not keep the others back, and stands as it was
// published.
func (p *Publisher) refresh(ctx context.Context) {
	if now, err := look(ctx, p.podResources); err != nil {
		p.Log.V(2).Info("cannot see what the kubelet has allocated", "reason", err.Error())
	} else {
		p.last = now
	}
	var errs []error
	for _, source := range p.Sources {
		lists, err := source.list(seen{p.held, p.before})
		errs = append(errs, err)
		for resource, devices := range lists {
			if p.plugins[resource] == nil {
				p.plugins[resource] = newPlugin(resource, source)
			}
			p.publish(p.plugins[resource], devices)
		}
	}
	p.unread = errors.Join(errs...)
}

// sorted returns the plugins by resource.
func (p *Publisher) sorted() []*plugin {
	return slices.SortedFunc(maps.Values(p.plugins), func(a, b *plugin) int { return cmp.Compare(a.resource, b.resource) })
}

func (p *Publisher) publish(one *plugin, devices []*pluginapi.Device) {
	if !one.publish(devices) {
		return
	}
	healthy := 0
	for _, d := range devices {
		if d.Health == pluginapi.Healthy {
			healthy++
		}
	}
	p.metrics.devices.WithLabelValues(one.resource, "healthy").Set(float64(healthy))
	p.metrics.devices.WithLabelValues(one.resource, "unhealthy").Set(float64(len(devices) - healthy))
	p.Log.Info("publish", "resource", one.resource, "capacity", len(devices), "allocatable", healthy)
}

// held returns the devices that containers hold, as far as the kubelet has told.
func (p *Publisher) held(resource string) map[string]bool { return p.last.allocated[resource] }

// before returns what was published last.
func (p *Publisher) before(resource string) []*pluginapi.Device {
	if one := p.plugins[resource]; one != nil {
		devices, _ := one.devices()
		return devices
	}
	return nil
}

// conflict returns an error when the kubelet, under one of the resources, lists
// devices that another plugin told it: the last registration wins, silently.
// Registering again would only take them back and forth, so it stays reported
// until the other is gone.
func (p *Publisher) conflict() error {
	var errs []error
	for _, one := range p.sorted() {
		foreign := p.foreign(one)
		p.metrics.conflict.WithLabelValues(one.resource).Set(float64(min(1, len(foreign))))
		if len(foreign) > 0 {
			errs = append(errs, fmt.Errorf("another device plugin serves %s (its device %q, for one): remove that plugin", one.resource, foreign[0]))
		}
	}
	return errors.Join(errs...)
}

func (p *Publisher) foreign(one *plugin) []string {
	var ids []string
	for id := range p.last.healthy[one.resource] {
		if !one.source.ours(one.resource, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
