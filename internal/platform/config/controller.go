package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Controller configures cmd/controller.
type Controller struct {
	Process
	Kubeconfig    string        // "" means in cluster
	SchedulerName string        // of the pods to schedule
	GPUResource   string        // counts whole cards
	Settle        time.Duration // of scores
	HalfLife      Maybe         // of scores; in place of Settle where given
	ScoreInterval time.Duration // how often scores are brought up to date and stored
	Policy        IndexPolicy
	Dimensions    Dimensions
	Candidates    int // length of a first list
	Proposers     int
	Binders       int     // binds under way at one time
	BindRate      float32 // binds a second
	BindTimeout   time.Duration
	RequestRate   float32 // other requests a second
	ReserveAfter  Maybe   // how long a pod is blocked until a node is held back for it; 0: none ever is
	QueueAddr     string  // host:port that says why pods wait; "" for nowhere
	LeaderElect   bool
	LeaseNS       string
	LeaseName     string
	LeaseDuration time.Duration
	Profiling     bool // serve /debug/pprof
}

func defaultController() Controller {
	return Controller{
		Process:       Process{HealthAddr: ":8125", LogFormat: Text},
		SchedulerName: "numalet-scheduler",
		GPUResource:   "nvidia.com/gpu",
		Settle:        fairshare.DefaultSettle * time.Second,
		ScoreInterval: time.Minute,
		Policy:        IndexPolicy(distbucket.LeastFit),
		Dimensions:    defaultDimensions(),
		Candidates:    4,
		Proposers:     4,
		Binders:       32,
		BindRate:      5000,
		BindTimeout:   5 * time.Second,
		RequestRate:   5000,
		ReserveAfter:  Maybe(time.Second),
		QueueAddr:     "127.0.0.1:8127",
		LeaderElect:   true,
		LeaseNS:       "numalet-system",
		LeaseName:     "numalet-controller",
		LeaseDuration: 15 * time.Second,
	}
}

func (c *Controller) bind(t *pflag.FlagSet) {
	c.Process.bind(t)
	t.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig, "kubeconfig `file`; empty means the pod's service account")
	t.StringVar(&c.SchedulerName, "scheduler-name", c.SchedulerName, "`name` in spec.schedulerName of the pods to schedule")
	t.StringVar(&c.GPUResource, "gpu-resource", c.GPUResource, "`name` of the resource that counts whole GPUs")
	t.DurationVar(&c.Settle, "score-settle", c.Settle, "how soon a tenant's score follows what it uses, as a `duration`: after four times that, by default a week, it is within 2 % of a use that stays")
	t.TextVar(&c.HalfLife, "score-half-life", c.HalfLife, "the same as a half-life: the `duration` in which the score of a tenant that uses nothing halves; none is what score-settle says")
	t.DurationVar(&c.ScoreInterval, "score-interval", c.ScoreInterval, "how often scores reorder the queue and are stored in Tenants, as a `duration`; pods that start or end count at once")
	t.TextVar(&c.Policy, "policy", c.Policy, "which of the nodes that fit comes first: leastfit, bestfit, firstfit, nextfit or random")
	t.TextVar(&c.Dimensions, "dimensions", c.Dimensions, "`list` of what nodes are compared by, most important first, each with its granularity: cpu (thousandths)/100,memory (bytes)/134217728,pods,numa-total,numa-single,numa-spread,gpus or the name of a resource")
	t.IntVar(&c.Candidates, "candidates", c.Candidates, "how many nodes are looked up for a pod, so that a conflict costs no second look")
	t.IntVar(&c.Proposers, "proposers", c.Proposers, "how many pods are looked after at one time")
	t.IntVar(&c.Binders, "binders", c.Binders, "how many binds are under way at one time")
	t.Float32Var(&c.BindRate, "bind-rate", c.BindRate, "binds a second at most")
	t.DurationVar(&c.BindTimeout, "bind-timeout", c.BindTimeout, "how long one bind may take, as a `duration`")
	t.Float32Var(&c.RequestRate, "request-rate", c.RequestRate, "other requests a second at most: events, conditions, the lease")
	t.TextVar(&c.ReserveAfter, "reserve-after", c.ReserveAfter, "for how long a pod that no node suits keeps those of its type behind it from being placed, as a `duration`; from then on a node is held back for it, and the others may use what is left. none lets them pass it at once and holds nothing back, as kube-scheduler does")
	t.StringVar(&c.QueueAddr, "queue-addr", c.QueueAddr, "`host:port` that tells numalet queue and numalet why of pending pods, of all namespaces: on loopback only those may ask who may forward a port of the pod; empty serves nobody")
	t.BoolVar(&c.LeaderElect, "leader-elect", c.LeaderElect, "let one of several replicas schedule; false is for a single one that never runs twice")
	t.StringVar(&c.LeaseNS, "lease-namespace", c.LeaseNS, "`namespace` of the lease")
	t.StringVar(&c.LeaseName, "lease-name", c.LeaseName, "`name` of the lease")
	t.DurationVar(&c.LeaseDuration, "lease-duration", c.LeaseDuration, "how long a leader may act after its last renewal, as a `duration` of whole seconds; after a leader that did not say goodbye the next one waits this long twice, and --bind-timeout")
	t.BoolVar(&c.Profiling, "profiling", c.Profiling, "serve /debug/pprof beside /metrics, for whoever reaches that address")
	renameEnv(t, "lease-namespace", "POD_NAMESPACE")
}

func (c Controller) validate() error {
	errs := []error{c.Process.validate()}
	for setting, n := range map[string]float64{
		"candidates": float64(c.Candidates), "proposers": float64(c.Proposers), "binders": float64(c.Binders),
		"bind-rate": float64(c.BindRate), "bind-timeout": c.BindTimeout.Seconds(), "request-rate": float64(c.RequestRate),
		"score-settle": c.Settle.Seconds(), "score-interval": c.ScoreInterval.Seconds(),
	} {
		if n <= 0 {
			errs = append(errs, fmt.Errorf("%s is %v: it has to be more than 0", setting, n))
		}
	}
	if c.SchedulerName == "" {
		errs = append(errs, errors.New("scheduler-name is empty: give the name that pods have in spec.schedulerName"))
	}
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

// IndexPolicy says which of the nodes that fit comes first.
type IndexPolicy distbucket.Policy

// MarshalText writes the policy's name.
func (p IndexPolicy) MarshalText() ([]byte, error) { return []byte(distbucket.Policy(p).String()), nil }

// UnmarshalText accepts the names of policies only.
func (p *IndexPolicy) UnmarshalText(text []byte) error {
	policy, err := distbucket.ParsePolicy(string(text))
	*p = IndexPolicy(policy)
	return err
}
