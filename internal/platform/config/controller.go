package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Controller is the configuration of numalet-controller (cmd/controller).
type Controller struct {
	Process
	Kubeconfig        string        // name of the kubeconfig file; "" for the cluster that this pod runs in
	MetricsAddr       string        // host:port of /metrics
	MetricsSecure     bool          // serve metrics over HTTPS, and only to clients that the API server authorizes
	SchedulerName     string        // spec.schedulerName of the pods that the controller schedules
	Kubescheduler     []byte        // the KubeSchedulerConfiguration in the file of --config, or nil
	GPUResource       string        // the resource of whole GPUs
	ScoreTimeConstant time.Duration // time constant of a tenant's score, which is an average of the tenant's usage over time
	HalfLife          Maybe         // time in which a tenant's score falls to half of its value if the tenant uses nothing; if HalfLife is set, ScoreTimeConstant has no effect
	ScoreInterval     time.Duration // time between updates of the stored scores
	UnknownTenants    UnknownTenants
	PodPriority       bool // order the queue by the priority of pods first, and then by the scores of their tenants
	Policy            filter.NodePolicy
	Dimensions        Dimensions
	Candidates        int // number of nodes that a search for a pod returns; if the pod cannot be assigned to the first of these nodes, the next one is tried
	Rated             int // for a pod that prefers some nodes to others: largest number of fitting nodes that get a score, as with percentageOfNodesToScore in kube-scheduler
	Proposers         int
	Binders           int     // number of concurrent bind requests
	BindRate          float32 // maximum number of bind requests per second
	BindTimeout       time.Duration
	RequestRate       float32 // maximum number of requests per second other than bind requests
	ReserveAfter      Maybe   // how long a pod that fits no node blocks later pods of its type; after this time, resources of a node are reserved for it, and later pods may use the rest; 0: no blocking and no reservations
	QueueAddr         string  // host:port of the queue API; "" for none
	PodIP             string  // IP of the pod that this process runs in; "" outside of a cluster
	LeaderElect       bool
	LeaseNS           string
	LeaseName         string
	LeaseDuration     time.Duration
	Profiling         bool // serve /debug/pprof
}

func defaultController() Controller {
	return Controller{
		Process:           Process{HealthAddr: ":8125", LogFormat: Text},
		MetricsAddr:       ":8443",
		MetricsSecure:     true,
		SchedulerName:     "numalet-scheduler",
		GPUResource:       "nvidia.com/gpu",
		ScoreTimeConstant: fairshare.DefaultTimeConstant * time.Second,
		ScoreInterval:     time.Minute,
		UnknownTenants:    WaitIfAny,
		PodPriority:       true,
		Policy:            filter.NodePolicy{Index: distbucket.LeastFit},
		Dimensions:        defaultDimensions(),
		Candidates:        4,
		Rated:             256,
		Proposers:         4,
		Binders:           32,
		BindRate:          5000,
		BindTimeout:       5 * time.Second,
		RequestRate:       5000,
		ReserveAfter:      Maybe(time.Second),
		QueueAddr:         ":8127",
		LeaderElect:       true,
		LeaseNS:           "numalet-system",
		LeaseName:         "numalet-controller",
		LeaseDuration:     15 * time.Second,
	}
}

func (c *Controller) bind(settings *pflag.FlagSet) {
	c.Process.bind(settings)
	bindKubeconfig(settings, &c.Kubeconfig)
	settings.StringVar(&c.MetricsAddr, "metrics-addr", c.MetricsAddr, "Listen address (`host:port`) of /metrics. The metrics contain the names of tenants and what they use.")
	settings.BoolVar(&c.MetricsSecure, "metrics-secure", c.MetricsSecure, "Serve /metrics over HTTPS, with a self-signed certificate, to users whom the API server authenticates and whose role allows get on the nonResourceURL /metrics. Use false only with a loopback address.")
	settings.StringVar(&c.SchedulerName, "scheduler-name", c.SchedulerName, "The `name` in spec.schedulerName of the pods to schedule. The controller also schedules pods with the scheduler names of the profiles of a KubeSchedulerConfiguration (see --config).")
	settings.StringVar(&c.GPUResource, "gpu-resource", c.GPUResource, "The `name` of the resource that counts whole GPUs.")
	settings.DurationVar(&c.ScoreTimeConstant, "score-time-constant", c.ScoreTimeConstant, "Time constant of tenants' scores, as a `duration`. A score is an average of what the tenant has held, in which recent use counts more; pods of tenants with lower scores are scheduled first. If a tenant's usage stays constant, its score has reached 63 % of the usage after the time constant, and 98 % after four time constants (a week by default).")
	settings.TextVar(&c.HalfLife, "score-half-life", c.HalfLife, "The `duration` in which the score of a tenant that uses nothing halves. If it is set, it replaces --score-time-constant. none means that --score-time-constant applies.")
	settings.DurationVar(&c.ScoreInterval, "score-interval", c.ScoreInterval, "How often scores reorder the queue and are stored in Tenants, as a `duration`. Pods that start or end count at once.")
	settings.BoolVar(&c.PodPriority, "pod-priority", c.PodPriority, "Order pods by their priority first, as kube-scheduler does, and then by the scores of their tenants. Use false where users may choose any PriorityClass: whoever has the highest priority would always come first.")
	settings.TextVar(&c.UnknownTenants, "unknown-tenants", c.UnknownTenants, "What happens to the pods of a tenant for which there is no Tenant object: wait makes these pods wait, schedule schedules them, and auto makes them wait as soon as there is any Tenant object in the cluster.")
	settings.TextVar(&c.Policy, "policy", c.Policy, "Which of the nodes on which a pod fits is preferred: leastfit (most free resources), bestfit (least free resources), firstfit (first in the order of the nodes' names), nextfit (next in this order after the last chosen node), random, or fragmentation, which keeps the free GPUs usable for pods like those seen so far.")
	settings.TextVar(&c.Dimensions, "dimensions", c.Dimensions, dimensionsHelp())
	settings.IntVar(&c.Candidates, "candidates", c.Candidates, "Number of candidate nodes that a search returns for a pod. If another pod has meanwhile taken the resources of the first candidate, the next candidate is tried without another search.")
	settings.IntVar(&c.Rated, "rated-nodes", c.Rated, "For a pod that prefers some nodes to others, kube-scheduler's score plugins rate at most this number of the nodes on which the pod fits. percentageOfNodesToScore in a KubeSchedulerConfiguration (see --config) replaces this setting.")
	settings.IntVar(&c.Proposers, "proposers", c.Proposers, "Number of pods for which nodes are searched concurrently.")
	settings.IntVar(&c.Binders, "binders", c.Binders, "Number of concurrent bind requests.")
	settings.Float32Var(&c.BindRate, "bind-rate", c.BindRate, "Maximum number of bind requests per second.")
	settings.DurationVar(&c.BindTimeout, "bind-timeout", c.BindTimeout, "Timeout of a request that binds a pod, or that writes an event or a condition, as a `duration`.")
	settings.Float32Var(&c.RequestRate, "request-rate", c.RequestRate, "Maximum number of requests per second other than bind requests: events, conditions, and renewals of the lease.")
	settings.TextVar(&c.ReserveAfter, "reserve-after", c.ReserveAfter, "How long a pod that fits no node blocks the pods behind it in the queue, as a `duration`. It blocks only pods that wait for the same resource: CPUs, or GPUs of the same model. After this time, Numalet reserves a node for the pod, and the pods behind it may use what is left. none disables blocking and reservations, as in kube-scheduler.")
	settings.StringVar(&c.QueueAddr, "queue-addr", c.QueueAddr, "Listen address (`host:port`) of the queue API, which the API server serves to numalet queue and numalet why as queue.numalet.dev. The queue API takes requests from the API server only. Empty disables the queue API.")
	settings.StringVar(&c.PodIP, "pod-ip", c.PodIP, "The `IP` address of the pod that this process runs in. The leader writes it into the EndpointSlice of the queue API. Empty writes none.")
	settings.BoolVar(&c.LeaderElect, "leader-elect", c.LeaderElect, "Elect one of several replicas as leader. Use false only for a single replica, of which two processes never run at the same time.")
	settings.StringVar(&c.LeaseNS, "lease-namespace", c.LeaseNS, "The `namespace` of the Lease with which the replicas elect a leader.")
	settings.StringVar(&c.LeaseName, "lease-name", c.LeaseName, "The `name` of the Lease with which the replicas elect a leader.")
	settings.DurationVar(&c.LeaseDuration, "lease-duration", c.LeaseDuration, "How long a leader may act after its last renewal, as a `duration` of whole seconds. If a leader exits without releasing the lease, the next leader waits for up to 2 × lease-duration + bind-timeout.")
	settings.BoolVar(&c.Profiling, "profiling", c.Profiling, "Serve /debug/pprof beside /metrics, to users whose role allows get on these nonResourceURLs.")
	settings.Lookup("health-addr").Usage = "Listen address (`host:port`) of /healthz and /readyz."
	renameEnv(settings, "lease-namespace", "POD_NAMESPACE")
	renameEnv(settings, "pod-ip", "POD_IP")
}

func (c Controller) validate() error {
	errs := []error{c.Process.validate()}
	for setting, n := range map[string]float64{
		"candidates": float64(c.Candidates), "rated-nodes": float64(c.Rated), "proposers": float64(c.Proposers), "binders": float64(c.Binders),
		"bind-rate": float64(c.BindRate), "bind-timeout": c.BindTimeout.Seconds(), "request-rate": float64(c.RequestRate),
		"score-time-constant": c.ScoreTimeConstant.Seconds(), "score-interval": c.ScoreInterval.Seconds(),
	} {
		if n <= 0 {
			errs = append(errs, fmt.Errorf("%s is %v: must be greater than 0", setting, n))
		}
	}
	if c.SchedulerName == "" {
		errs = append(errs, errors.New("scheduler-name is empty: give the name that pods have in spec.schedulerName"))
	}
	errs = append(errs, listenable("metrics-addr", c.MetricsAddr))
	if c.QueueAddr != "" {
		errs = append(errs, listenable("queue-addr", c.QueueAddr))
	}
	if c.GPUResource == "" {
		errs = append(errs, errors.New("gpu-resource is empty: give the name under which nodes publish whole GPUs, such as nvidia.com/gpu"))
	}
	if c.LeaseDuration < 2*time.Second || c.LeaseDuration%time.Second != 0 {
		errs = append(errs, fmt.Errorf("lease-duration %s: want whole seconds, two or more", c.LeaseDuration))
	}
	return errors.Join(errs...)
}
