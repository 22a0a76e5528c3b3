package filters

import (
	"context"
	"fmt"
	"slices"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// API is what the filters read of the cluster besides nodes and pods, and what PreBind writes
// to. The informers must be started and synced after all instances are created and before
// one is used.
type API struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
}

// local returns the plugins that need no state of their own beyond nodes and pods.
func local() []string {
	return []string{
		names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit,
		names.VolumeRestrictions, names.PodTopologySpread, names.InterPodAffinity, names.NodeDeclaredFeatures, names.ImageLocality,
		names.PrioritySort, names.DefaultBinder, // not used here, but a profile is invalid without them
	}
}

// claiming returns the plugins of volumes and devices. Each instance keeps its reservations
// in memory, so there must be only one.
func claiming() []string {
	return []string{names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone, names.DynamicResources}
}

// newFramework returns an instance of kube-scheduler's framework with the enabled plugins of
// the default profile, in its order and with its settings, and a runner of these plugins. It
// runs goroutines until ctx ends.
func newFramework(ctx context.Context, l *lister, api API, enabled []string, more ...runtime.Option) (framework.Framework, *runner, error) {
	metrics.Register()
	defaults, err := latest.Default()
	if err != nil {
		return nil, nil, fmt.Errorf("read kube-scheduler's default profile: %w", err)
	}
	profile := defaults.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool {
		return !slices.Contains(enabled, p.Name)
	})
	for _, p := range profile.Plugins.MultiPoint.Enabled {
		if !slices.Contains(rating(), p.Name) {
			profile.Plugins.PreScore.Disabled = append(profile.Plugins.PreScore.Disabled, config.Plugin{Name: p.Name})
			profile.Plugins.Score.Disabled = append(profile.Plugins.Score.Disabled, config.Plugin{Name: p.Name})
		}
	}
	for i := range profile.PluginConfig {
		if args, ok := profile.PluginConfig[i].Args.(*config.PodTopologySpreadArgs); ok {
			args.DefaultingType, args.DefaultConstraints = config.ListDefaulting, nil
		}
	}
	options := append([]runtime.Option{
		runtime.WithClientSet(api.Client),
		runtime.WithInformerFactory(api.Informers),
		runtime.WithSnapshotSharedLister(l),
	}, more...)
	made := map[string]fwk.Plugin{}
	f, err := runtime.NewFramework(ctx, noting(plugins.NewInTreeRegistry(), made), &profile, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("make an instance of kube-scheduler's framework: %w", err)
	}
	return f, newRunner(f.ListPlugins(), made, l), nil
}

// noting returns a registry that records the created plugins by name, because a framework
// does not expose them.
func noting(r runtime.Registry, made map[string]fwk.Plugin) runtime.Registry {
	for name, create := range r {
		r[name] = func(ctx context.Context, settings apiruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
			p, err := create(ctx, settings, h)
			made[name] = p
			return p, err
		}
	}
	return r
}

// claimOptions returns the options that the claiming plugins need.
func claimOptions(ctx context.Context, api API) ([]runtime.Option, error) {
	devices, err := newDevices(ctx, api)
	if err != nil {
		return nil, err
	}
	volumes := nodevolumelimits.NewCSIManager(api.Informers.Storage().V1().CSINodes().Lister())
	return []runtime.Option{runtime.WithSharedCSIManager(volumes), runtime.WithSharedDRAManager(devices)}, nil
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
