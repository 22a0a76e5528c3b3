package filters

import (
	"context"
	"fmt"
	"maps"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// Claims are the plugins of volumes and devices. All instances share them. So the proposers know
// what the committer has reserved, and the committer need not search for a node that has the
// volumes and devices of a pod. The plugins may be used by several goroutines: kube-scheduler, too,
// runs Filter on many nodes at the same time, and PreBind of other pods beside it.
//
// Claims itself is used only while instances are created, from one goroutine.
type Claims struct {
	options []runtime.Option
	plugins map[string]fwk.Plugin // by name
}

// NewClaims returns plugins of volumes and devices. They run goroutines until ctx ends.
func NewClaims(ctx context.Context, api API) (*Claims, error) {
	devices, err := newDevices(ctx, api)
	if err != nil {
		return nil, err
	}
	volumes := nodevolumelimits.NewCSIManager(api.Informers.Storage().V1().CSINodes().Lister())
	return &Claims{
		options: []runtime.Option{runtime.WithSharedCSIManager(volumes), runtime.WithSharedDRAManager(devices)},
		plugins: map[string]fwk.Plugin{},
	}, nil
}

// settings returns the options that the plugins need. Nil Claims need none.
func (c *Claims) settings() []runtime.Option {
	if c == nil {
		return nil
	}
	return c.options
}

// made returns a copy of the plugins that exist already.
func (c *Claims) made() map[string]fwk.Plugin {
	if c == nil {
		return map[string]fwk.Plugin{}
	}
	return maps.Clone(c.plugins)
}

// keep adds those of the given plugins that are plugins of volumes and devices.
func (c *Claims) keep(all map[string]fwk.Plugin) {
	if c == nil {
		return
	}
	for _, name := range claiming() {
		if plugin, ok := all[name]; ok {
			c.plugins[name] = plugin
		}
	}
}

// newDevices returns the manager that records which devices are allocated.
func newDevices(ctx context.Context, api API) (fwk.SharedDRAManager, error) {
	resources := api.Informers.Resource()
	enabled := utilfeature.DefaultFeatureGate.Enabled
	slicesOptions := resourceslicetracker.Options{
		EnableDeviceTaintRules:   enabled(features.DRADeviceTaintRules),
		EnableConsumableCapacity: enabled(features.DRAConsumableCapacity),
		SliceInformer:            resources.V1().ResourceSlices(),
		KubeClient:               api.Client,
	}
	if slicesOptions.EnableDeviceTaintRules {
		slicesOptions.TaintInformer = resources.V1beta2().DeviceTaintRules()
		slicesOptions.ClassInformer = resources.V1().DeviceClasses()
	}
	tracker, err := resourceslicetracker.StartTracker(ctx, slicesOptions)
	if err != nil {
		return nil, fmt.Errorf("track resource slices: %w", err)
	}
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), resources.V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	return dynamicresources.NewDRAManager(ctx, claims, tracker, api.Informers), nil
}
