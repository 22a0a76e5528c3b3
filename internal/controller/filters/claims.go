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

// Claims has the kube-scheduler plugins for volumes and devices. The proposers (which list nodes
// for pods) and the committer (which decides the node) share these plugins. So the proposers know
// which volumes and devices the committer has reserved, and list only nodes on which the volumes
// and devices of a pod are available. The plugins are made for use by several goroutines at the
// same time: kube-scheduler itself runs Filter on many nodes at once, and runs PreBind of other
// pods at the same time.
//
// The methods of Claims are called only while the instances of kube-scheduler's framework are
// created, and only from one goroutine.
type Claims struct {
	options []runtime.Option
	plugins map[string]fwk.Plugin // by name
}

// NewClaims returns a Claims that has no plugins yet. It creates the data that the plugins for
// volumes and devices share, such as the record of allocated devices. The goroutines that it starts
// end when ctx is done.
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

// settings returns the options of kube-scheduler's framework that the plugins for volumes and
// devices need. It returns no options if c is nil.
func (c *Claims) settings() []runtime.Option {
	if c == nil {
		return nil
	}
	return c.options
}

// made returns the plugins for volumes and devices that were created so far, by name. The caller
// may change the returned map.
func (c *Claims) made() map[string]fwk.Plugin {
	if c == nil {
		return map[string]fwk.Plugin{}
	}
	return maps.Clone(c.plugins)
}

// keep stores those of the given plugins that are for volumes and devices, so that the next
// instance of kube-scheduler's framework uses the same plugins.
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

// newDevices returns the manager that records which devices of dynamic resource allocation (DRA)
// are allocated.
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
