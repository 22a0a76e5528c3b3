package filters

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/numalet/numalet/pkg/sched"
)

// Configuration has those settings of a KubeSchedulerConfiguration that Numalet supports. It is
// immutable.
type Configuration struct {
	profiles    []config.KubeSchedulerProfile // the first one is also for pods with an unknown scheduler name
	percentage  *int32                        // how many percent of the nodes are rated for pods of a profile that sets no percentage itself
	parallelism int32
	rated       int // how many nodes are rated if no percentage is set
	kubeconfig  string
}

// Options are the settings of the filters that do not come from a KubeSchedulerConfiguration.
type Options struct {
	SchedulerName string // scheduler name of the default profile; the default profile is left out if the file has a profile of this name
	GPUResource   string // name of the resource that counts whole GPUs; a profile must not ignore this resource (ignoredResources, ignoredResourceGroups)
	Rated         int    // how many nodes are rated for a pod that prefers some nodes to others
}

// Default returns the Configuration that is used if there is no KubeSchedulerConfiguration file. It
// has kube-scheduler's default profile with one exception: pods without topology spread constraints
// are not spread. To spread such a pod, the plugin PodTopologySpread would have to find the
// Services, ReplicaSets and StatefulSets that select the pod.
func Default(o Options) (*Configuration, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("read kube-scheduler's default profile: %w", err)
	}
	profile := defaults.Profiles[0]
	profile.SchedulerName = o.SchedulerName
	for _, args := range argsOf[*config.PodTopologySpreadArgs](profile) {
		args.DefaultingType, args.DefaultConstraints = config.ListDefaulting, nil
	}
	return &Configuration{profiles: []config.KubeSchedulerProfile{profile}, parallelism: defaults.Parallelism, rated: o.Rated}, nil
}

// ReadConfiguration reads a KubeSchedulerConfiguration in the same way as kube-scheduler. The error
// names each field that Numalet does not support, and says what to do instead.
func ReadConfiguration(text []byte, o Options) (*Configuration, error) {
	c, err := Default(o)
	if err != nil || len(text) == 0 {
		return c, err
	}
	object, kind, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("read KubeSchedulerConfiguration: %w", err)
	}
	read, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("read KubeSchedulerConfiguration: the kind is %s", kind)
	}
	read.APIVersion = kind.GroupVersion().String() // the validation requires it
	if invalid := validation.ValidateKubeSchedulerConfiguration(read); invalid != nil {
		return nil, fmt.Errorf("read KubeSchedulerConfiguration: %w", invalid)
	}
	if err := errors.Join(unsupported(read, o)...); err != nil {
		return nil, fmt.Errorf("KubeSchedulerConfiguration:\n%w", err)
	}
	named := func(p config.KubeSchedulerProfile) bool { return p.SchedulerName == o.SchedulerName }
	if slices.ContainsFunc(read.Profiles, named) {
		c.profiles = nil
	}
	c.profiles = append(c.profiles, read.Profiles...)
	c.percentage, c.parallelism, c.kubeconfig = read.PercentageOfNodesToScore, read.Parallelism, read.ClientConnection.Kubeconfig
	return c, nil
}

// SchedulerNames returns the scheduler names of the profiles. Numalet schedules the pods that have
// one of these names in spec.schedulerName.
func (c *Configuration) SchedulerNames() (all []string) {
	for _, p := range c.profiles {
		all = append(all, p.SchedulerName)
	}
	return all
}

// Kubeconfig returns the field clientConnection.kubeconfig of the KubeSchedulerConfiguration, or ""
// if the field is not set.
func (c *Configuration) Kubeconfig() string { return c.kubeconfig }

// profile returns the index of the profile with the given scheduler name. For an unknown name it
// returns 0, the index of the first profile.
func (c *Configuration) profile(scheduler string) int {
	return max(0, slices.IndexFunc(c.profiles, func(p config.KubeSchedulerProfile) bool { return p.SchedulerName == scheduler }))
}

// leastRated is the smallest number of nodes that are rated for a pod if percentageOfNodesToScore
// is set. kube-scheduler has the same minimum.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/schedule_one.go,
// minFeasibleNodesToFind.
const leastRated = 100

// ratedOf returns how many nodes are rated (scored) for a pod of the profile with the given index,
// in a cluster with the given number of nodes.
func (c *Configuration) ratedOf(profile, nodes int) int {
	percentage := c.profiles[profile].PercentageOfNodesToScore
	if percentage == nil {
		percentage = c.percentage
	}
	if percentage == nil || *percentage == 0 {
		return min(nodes, c.rated)
	}
	return min(nodes, max(leastRated, nodes*int(*percentage)/100))
}

// wishesIn tells whether a profile makes its pods prefer some nodes, in addition to the preferences
// in the specs of the pods.
func wishesIn(profile config.KubeSchedulerProfile) (w wishes) {
	for _, args := range argsOf[*config.NodeAffinityArgs](profile) {
		w.some = args.AddedAffinity != nil && len(args.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
	}
	for _, args := range argsOf[*config.PodTopologySpreadArgs](profile) {
		w.near = args.DefaultingType == config.SystemDefaulting || len(args.DefaultConstraints) > 0
	}
	return w
}

// complete applies the settings of a pod's profile to the pod. It drops requests for resources that
// the profile ignores. The filters cache the set of the nodes that the rules of pods admit (under
// the key p.rules), and the number of pods that match a required pod affinity (under the key
// p.neighbors). If there are several profiles, the method adds the profile's name to these keys, so
// that pods of different profiles share no result.
func (c *Configuration) complete(p *Pod, to *sched.Pod) {
	if c == nil {
		return
	}
	profile := c.profiles[c.profile(to.Profile)]
	if len(c.profiles) > 1 { // the keys must differ, because profiles may add node affinity and disable plugins
		for _, key := range []*string{&p.rules, &p.neighbors} {
			if *key != "" {
				*key = profile.SchedulerName + " " + *key
			}
		}
	}
	counted, all := map[string]int64{}, 0
	for name, count := range to.Requests.Extended.All() {
		if all++; !ignored(profile, name) {
			counted[name] = count
		}
	}
	if len(counted) < all {
		to.Requests.Extended = sched.ExtendedOf(counted)
	}
}

// ignored reports whether a profile ignores a resource (the arguments ignoredResources and
// ignoredResourceGroups of the plugin NodeResourcesFit).
func ignored(profile config.KubeSchedulerProfile, resource string) bool {
	for _, args := range argsOf[*config.NodeResourcesFitArgs](profile) {
		if slices.Contains(args.IgnoredResources, resource) {
			return true
		}
		for _, group := range args.IgnoredResourceGroups {
			if len(resource) > len(group) && resource[:len(group)+1] == group+"/" {
				return true
			}
		}
	}
	return false
}

// argsOf returns a profile's plugin arguments of type T. The result has at most one element.
func argsOf[T any](profile config.KubeSchedulerProfile) (found []T) {
	for _, p := range profile.PluginConfig {
		if args, ok := p.Args.(T); ok {
			found = append(found, args)
		}
	}
	return found
}

// enabled returns a copy of a profile in which only the given plugins are enabled. Of these
// plugins, those that do not rate nodes (see the function `rating`) are disabled at the extension
// points PreScore and Score.
func enabled(profile config.KubeSchedulerProfile, plugins []string) *config.KubeSchedulerProfile {
	p := profile
	p.Plugins = profile.Plugins.DeepCopy()
	for _, set := range []*config.PluginSet{
		&p.Plugins.MultiPoint, &p.Plugins.PreEnqueue, &p.Plugins.QueueSort, &p.Plugins.PreFilter, &p.Plugins.Filter, &p.Plugins.PreScore,
		&p.Plugins.Score, &p.Plugins.Reserve, &p.Plugins.PreBind, &p.Plugins.Bind,
	} {
		set.Enabled = slices.DeleteFunc(set.Enabled, func(one config.Plugin) bool { return !slices.Contains(plugins, one.Name) })
	}
	for _, name := range plugins {
		if !slices.Contains(rating(), name) {
			p.Plugins.PreScore.Disabled = append(p.Plugins.PreScore.Disabled, config.Plugin{Name: name})
			p.Plugins.Score.Disabled = append(p.Plugins.Score.Disabled, config.Plugin{Name: name})
		}
	}
	return &p
}

// hard reports whether a default topology spread constraint excludes nodes (DoNotSchedule).
func hard(c v1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == v1.DoNotSchedule }

// framed returns the names of the plugins of kube-scheduler's default profile that Numalet does not
// run. Numalet does the work of such a plugin in another way, or does not do it. The documentation
// lists the work that Numalet does not do.
func framed() []string {
	return []string{names.SchedulingGates, names.DefaultPreemption, names.NodeResourcesBalancedAllocation, names.GangScheduling,
		names.TopologyPlacementGenerator, names.PodGroupPodsCount}
}
