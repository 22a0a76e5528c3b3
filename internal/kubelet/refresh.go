package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/pkg/topology"
)

// refresh reads the machine and what the kubelet has allocated, and publishes
// what follows. A kubelet that does not answer is believed to hold what it held.
func (p *Publisher) refresh(ctx context.Context) error {
	m, err := p.Discover()
	if err != nil {
		return fmt.Errorf("discover the machine: %w", err)
	}
	if now, err := look(ctx, p.podResources); err != nil {
		p.Log.V(2).Info("cannot see what the kubelet has allocated", "reason", err.Error())
	} else {
		p.last = now
	}
	all := counts(m, p.Reserved)
	for node := range all {
		if p.plugins[node] == nil {
			p.plugins[node] = newPlugin(node)
		}
	}
	for _, one := range p.sorted() {
		p.publish(one, all[one.node])
	}
	return nil
}

// sorted returns the plugins by NUMA node.
func (p *Publisher) sorted() []*plugin {
	return slices.SortedFunc(maps.Values(p.plugins), func(a, b *plugin) int { return cmp.Compare(a.node, b.node) })
}

func (p *Publisher) publish(one *plugin, n count) {
	before, _ := one.devices()
	devices := tokens(one.node, n, p.allocated(one), before)
	if !one.publish(devices) {
		return
	}
	healthy := 0
	for _, d := range devices {
		if d.Health == pluginapi.Healthy {
			healthy++
		}
	}
	p.metrics.cpus.WithLabelValues(one.resource(), "healthy").Set(float64(healthy))
	p.metrics.cpus.WithLabelValues(one.resource(), "unhealthy").Set(float64(len(devices) - healthy))
	p.Log.Info("publish", "resource", one.resource(), "capacity", len(devices), "allocatable", healthy)
}

// allocated returns the tokens of one that containers hold.
func (p *Publisher) allocated(one *plugin) map[string]bool {
	ids := map[string]bool{}
	for id := range p.last.allocated[one.resource()] {
		if ours(id, one.node) {
			ids[id] = true
		}
	}
	return ids
}

// conflict returns an error when the kubelet, under one of the resources, lists
// devices that another plugin told it: the last registration wins, silently.
// Registering again would only take them back and forth, so it stays reported
// until the other is gone.
func (p *Publisher) conflict() error {
	var errs []error
	for _, one := range p.sorted() {
		foreign := p.foreign(one)
		p.metrics.conflict.WithLabelValues(one.resource()).Set(float64(min(1, len(foreign))))
		if len(foreign) > 0 {
			errs = append(errs, fmt.Errorf("another device plugin serves %s (its device %q, for one): remove that plugin", one.resource(), foreign[0]))
		}
	}
	return errors.Join(errs...)
}

func (p *Publisher) foreign(one *plugin) []string {
	var ids []string
	for id := range p.last.healthy[one.resource()] {
		if !ours(id, one.node) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// ours tells the tokens of a NUMA node from another plugin's devices.
func ours(id string, node topology.NodeID) bool { return strings.HasPrefix(id, tokenPrefix(node)) }
