package filters

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// unsupported returns an error for each field of a valid configuration that Numalet does not
// support. It accepts a field that has kube-scheduler's default value, because such a field looks
// the same after decoding, whether the file sets it or not.
func unsupported(c *config.KubeSchedulerConfiguration, o Options) (errs []error) {
	defaults, err := latest.Default()
	if err != nil {
		return []error{fmt.Errorf("read kube-scheduler's defaults: %w", err)}
	}
	refuse := func(field, do string) { errs = append(errs, fmt.Errorf("%s is not supported: %s", field, do)) }
	if !reflect.DeepEqual(c.LeaderElection, defaults.LeaderElection) {
		refuse("leaderElection", "use the settings leader-elect, lease-namespace, lease-name and lease-duration")
	}
	connection := c.ClientConnection
	connection.Kubeconfig = ""
	if connection != defaults.ClientConnection {
		refuse("clientConnection", "only kubeconfig is read; use the settings request-rate and bind-rate")
	}
	if c.PodInitialBackoffSeconds != defaults.PodInitialBackoffSeconds || c.PodMaxBackoffSeconds != defaults.PodMaxBackoffSeconds {
		refuse("podInitialBackoffSeconds, podMaxBackoffSeconds", "remove them; a pod is retried when something changes that may help it")
	}
	if len(c.Extenders) > 0 {
		refuse("extenders", "remove them, or leave their pods to kube-scheduler")
	}
	if c.DelayCacheUntilActive {
		refuse("delayCacheUntilActive", "remove it; a replica on standby keeps its cache up to date")
	}
	for i, p := range c.Profiles {
		at := fmt.Sprintf("profiles[%d]", i)
		errs = append(errs, unsupportedPlugins(at+".plugins", p.Plugins, defaults.Profiles[0].Plugins)...)
		errs = append(errs, unsupportedArgs(at+".pluginConfig", p, defaults.Profiles[0], o)...)
		errs = append(errs, differing(at+".pluginConfig", p, c.Profiles[0])...)
	}
	return errs
}

// point is an extension point of kube-scheduler. The field `set` has the plugins that a profile
// enables and disables at this extension point. The field `allow` has the names of the plugins that
// Numalet supports there.
type point struct {
	name  string
	set   config.PluginSet
	allow []string
	do    string // end of the error message: what to do instead of enabling a plugin that is not in `allow`, or why a plugin in `allow` cannot be disabled
}

// unsupportedPlugins returns an error for each plugin that a profile enables although Numalet does
// not support it, for each plugin that a profile disables although Numalet cannot run without it, and
// for each weight of a plugin that rates no nodes in Numalet, unless it is the weight of kube-scheduler's default
// profile (the parameter `defaults`). The parameter `at` is the path of the field `plugins` in the
// file.
func unsupportedPlugins(at string, p, defaults *config.Plugins) (errs []error) {
	own, filtering := "kube-scheduler's own plugins can be enabled only; remove it", append(local(), claiming()...)
	for _, one := range []point{
		{"multiPoint", p.MultiPoint, append(filtering, framed()...), own},
		{"preEnqueue", p.PreEnqueue, []string{names.SchedulingGates}, own},
		{"queueSort", p.QueueSort, []string{names.PrioritySort}, "the queue is ordered by priority and the scores of tenants; see the setting pod-priority"},
		{"preFilter", p.PreFilter, filtering, own},
		{"filter", p.Filter, filtering, own},
		{"postFilter", p.PostFilter, nil, "pods are never preempted; remove it"},
		{"preScore", p.PreScore, rating(), "free resources are compared by the setting policy; remove it"},
		{"score", p.Score, rating(), "free resources are compared by the setting policy; remove it"},
		{"reserve", p.Reserve, claiming(), own},
		{"permit", p.Permit, nil, "pods that start together are gangs; remove it"},
		{"preBind", p.PreBind, claiming(), own},
		{"bind", p.Bind, []string{names.DefaultBinder}, own},
		{"postBind", p.PostBind, nil, own},
		{"placementGenerate", p.PlacementGenerate, nil, own},
		{"placementScore", p.PlacementScore, nil, own},
	} {
		for _, plugin := range one.set.Enabled {
			switch {
			case !slices.Contains(one.allow, plugin.Name):
				errs = append(errs, fmt.Errorf("%s.%s: %s is not supported: %s", at, one.name, plugin.Name, one.do))
			case plugin.Weight > 1 && !slices.Contains(rating(), plugin.Name) && !slices.Contains(defaults.MultiPoint.Enabled, plugin):
				errs = append(errs, fmt.Errorf("%s.%s: the weight %d of %s is not supported: this plugin rates no nodes here; remove the weight, and see the setting policy", at, one.name, plugin.Weight, plugin.Name))
			}
		}
	}
	for _, one := range []point{
		{"preEnqueue", p.PreEnqueue, []string{names.SchedulingGates}, "the controller always respects gates"},
		{"filter", p.Filter, []string{names.NodeResourcesFit}, "the controller always counts resources; ignore single ones by ignoredResources"},
		{"bind", p.Bind, []string{names.DefaultBinder}, "the controller always binds pods by itself"},
	} {
		name := one.allow[0]
		if !has(p.MultiPoint.Enabled, name) && !has(one.set.Enabled, name) || without(one.set, name) {
			errs = append(errs, fmt.Errorf("%s.%s: %s cannot be disabled: %s", at, one.name, name, one.do))
		}
	}
	return errs
}

func has(all []config.Plugin, name string) bool {
	return slices.ContainsFunc(all, func(p config.Plugin) bool { return p.Name == name })
}

// The function `without` reports whether a set disables a plugin, and does not enable the same
// plugin again.
func without(set config.PluginSet, name string) bool {
	return (has(set.Disabled, name) || has(set.Disabled, "*")) && !has(set.Enabled, name)
}

// unsupportedArgs returns an error for each plugin argument of a profile that Numalet does not
// support.
func unsupportedArgs(at string, p, defaults config.KubeSchedulerProfile, o Options) (errs []error) {
	refuse := func(field, do string) { errs = append(errs, fmt.Errorf("%s: %s is not supported: %s", at, field, do)) }
	usual := argsOf[*config.NodeResourcesFitArgs](defaults)[0]
	for _, args := range argsOf[*config.NodeResourcesFitArgs](p) {
		if !reflect.DeepEqual(args.ScoringStrategy, usual.ScoringStrategy) {
			refuse("scoringStrategy of NodeResourcesFit", "use the setting policy: leastfit for LeastAllocated, bestfit for MostAllocated")
		}
		if ignored(p, o.GPUResource) {
			refuse("ignoring "+o.GPUResource, "the controller assigns GPUs; see the setting gpu-resource")
		}
	}
	for _, args := range argsOf[*config.PodTopologySpreadArgs](p) {
		if slices.ContainsFunc(args.DefaultConstraints, hard) {
			refuse("a default constraint of PodTopologySpread with whenUnsatisfiable: DoNotSchedule", "use ScheduleAnyway, or give the pods the constraint")
		}
	}
	if !reflect.DeepEqual(argsOf[*config.DefaultPreemptionArgs](p), argsOf[*config.DefaultPreemptionArgs](defaults)) && len(argsOf[*config.DefaultPreemptionArgs](p)) > 0 {
		refuse("DefaultPreemption", "pods are never preempted; remove it")
	}
	balanced := argsOf[*config.NodeResourcesBalancedAllocationArgs](p)
	if len(balanced) > 0 && !reflect.DeepEqual(balanced, argsOf[*config.NodeResourcesBalancedAllocationArgs](defaults)) {
		refuse("NodeResourcesBalancedAllocation", "free resources are compared by the settings policy and dimensions; remove it")
	}
	return errs
}

// differing returns an error for each plugin argument that must be the same in all profiles, but
// differs from that of the first profile. These are the arguments of the plugins that keep
// reservations of volumes and devices, because all profiles share these plugins.
func differing(at string, p, first config.KubeSchedulerProfile) (errs []error) {
	volumes, devices := argsOf[*config.VolumeBindingArgs](p), argsOf[*config.DynamicResourcesArgs](p)
	if !reflect.DeepEqual(volumes, argsOf[*config.VolumeBindingArgs](first)) {
		errs = append(errs, fmt.Errorf("%s: VolumeBinding differs from profiles[0]: give all profiles the same arguments", at))
	}
	if !reflect.DeepEqual(devices, argsOf[*config.DynamicResourcesArgs](first)) {
		errs = append(errs, fmt.Errorf("%s: DynamicResources differs from profiles[0]: give all profiles the same arguments", at))
	}
	return errs
}
