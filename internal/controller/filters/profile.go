package filters

import (
	"context"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// API has the clients and informers through which the filters read objects other than nodes and
// pods, and through which PreBind writes. The caller first creates all filters, then starts the
// informers and waits for their initial lists, and only then uses the filters.
type API struct {
	Client        kubernetes.Interface
	Informers     informers.SharedInformerFactory
	Configuration *Configuration // nil for the default
	Claims        *Claims        // nil for filters without the plugins for volumes and devices
}

// configuration returns a.Configuration, or the default Configuration if the field is nil.
func (a API) configuration() (*Configuration, error) {
	if a.Configuration != nil {
		return a.Configuration, nil
	}
	return Default(Options{Rated: DefaultRated})
}

// local returns the names of the plugins that keep no state of their own.
func local() []string {
	return []string{
		names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit,
		names.VolumeRestrictions, names.PodTopologySpread, names.InterPodAffinity, names.NodeDeclaredFeatures, names.ImageLocality,
		names.PrioritySort, names.DefaultBinder, // these two plugins do not run, but a profile without them is invalid
	}
}

// claiming returns the names of the plugins for volumes and devices. Some of these plugins keep in
// memory which volumes and devices are reserved for pods. All filters share one instance of each of
// these plugins (see Claims), so that all filters know of the reservations.
func claiming() []string {
	return []string{names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone, names.DynamicResources}
}

// instance is one instance of kube-scheduler's framework, with plugins of one profile, and a runner
// that runs these plugins.
type instance struct {
	profile   int // index of the profile
	framework framework.Framework
	runner    *runner
	rates     []config.Plugin // the plugins that rate nodes
	wishes    wishes          // whether the profile makes its pods prefer some nodes
}

// newInstances returns an instance of kube-scheduler's framework for each profile. The instance has
// those plugins of the profile whose names are given, in the profile's order and with the profile's
// arguments. The goroutines of the plugins end when ctx is done.
func newInstances(ctx context.Context, l *lister, api API, plugins []string) (all []*instance, err error) {
	c, err := api.configuration()
	if err != nil {
		return nil, err
	}
	for i, profile := range c.profiles {
		made := api.Claims.made()
		f, err := newFramework(ctx, enabled(profile, plugins), registry(made), append([]runtime.Option{
			runtime.WithClientSet(api.Client), runtime.WithInformerFactory(api.Informers),
			runtime.WithSnapshotSharedLister(l), runtime.WithParallelism(int(c.parallelism)),
		}, api.Claims.settings()...))
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", profile.SchedulerName, err)
		}
		listed := f.ListPlugins()
		all = append(all, &instance{i, f, newRunner(listed, made, l), listed.Score.Enabled, wishesIn(profile)})
		api.Claims.keep(made)
	}
	return all, nil
}

func newFramework(ctx context.Context, p *config.KubeSchedulerProfile, r runtime.Registry, options []runtime.Option) (framework.Framework, error) {
	metrics.Register()
	f, err := runtime.NewFramework(ctx, r, p, options...)
	if err != nil {
		return nil, fmt.Errorf("make an instance of kube-scheduler's framework: %w", err)
	}
	return f, nil
}

// registry returns a registry of kube-scheduler's plugins. The parameter `made` is a map of plugins
// by name. The registry reuses the plugins in this map. If it creates a plugin, it adds the plugin
// to the map. A framework does not expose its plugins, so the caller finds them in the map.
func registry(made map[string]fwk.Plugin) runtime.Registry {
	r := plugins.NewInTreeRegistry()
	for name, create := range r {
		r[name] = func(ctx context.Context, settings apiruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
			if p, ok := made[name]; ok {
				return p, nil
			}
			p, err := create(ctx, settings, h)
			made[name] = p
			return p, err
		}
	}
	return r
}
