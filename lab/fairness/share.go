package fairness

import (
	"fmt"
	"slices"
	"time"

	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Settings configure a trial, which is one simulation.
type Settings struct {
	Users     []User
	Seed      uint64
	For       time.Duration // how long the trial runs; its second half is measured
	Constant  float64       // time constant of the users' fair-share scores (package fairshare), in seconds
	EndsKnown bool
	Profile   filter.Profile
	Turns     virtual.Turns
}

// Outcome is the result of a trial, measured in its second half.
type Outcome struct {
	Turns     virtual.Turns
	Jain      float64 // mean of hourly samples of Jain's fairness index of the users' scores, each divided by the user's weight
	Allocated float64 // GPUs in use as a fraction of all GPUs
	Started   Pods
	Waiting   Pods  // number of GPU pods that are waiting at the end
	All       Waits // how long the GPU pods that arrived in the second half waited; for a pod that never started, the time to the end of the trial
	Users     []UserOutcome
}

// UserOutcome is the result for one user.
type UserOutcome struct {
	User
	GPUs  float64 // GPUs held on average
	Waits Waits
}

// Share simulates a cluster in which the pods of several users compete for the GPUs of the nodes.
// It returns an error if Settings.For is less than two hours.
func Share(nodes []*sched.Node, samples []Sample, settings Settings) (Outcome, error) {
	if settings.For < 2*sampling {
		return Outcome{}, fmt.Errorf("share %d nodes for %s: want %s at least", len(nodes), settings.For, 2*sampling)
	}
	t, err := newTrial(nodes, samples, settings)
	if err != nil {
		return Outcome{}, err
	}
	t.start()
	t.cluster.Run(settings.For / 2)
	t.measuring = t.cluster.Now()
	t.cluster.Every(sampling, t.sample)
	t.cluster.Run(settings.For - settings.For/2)
	return t.outcome(), nil
}

// sampling is the interval at which the users' GPUs and scores are recorded.
const sampling = time.Hour

// trial is the state of a running trial.
type trial struct {
	Settings
	cluster   *virtual.Cluster
	senders   map[string]*sender
	all       float64 // number of GPUs of the cluster
	measuring time.Time
	jain      []float64
	held      map[string]float64 // by user: the sum of the numbers of GPUs in the hourly records
	began     Pods
	waits     map[string]Waits
	meter     meter // integrates the number of GPUs that all users hold
}

// start makes all users submit pods.
func (t *trial) start() {
	for _, u := range t.Users {
		t.senders[u.Name].send(t.cluster)
	}
}

func newTrial(nodes []*sched.Node, samples []Sample, settings Settings) (*trial, error) {
	decay, err := fairshare.NewDecay(settings.Constant)
	if err != nil {
		return nil, err
	}
	c, err := nodestate.New(settings.Profile)
	if err != nil {
		return nil, err
	}
	t := &trial{Settings: settings, senders: map[string]*sender{}, held: map[string]float64{}, waits: map[string]Waits{}}
	for _, node := range nodes {
		c.SetNode(node)
		t.all += float64(len(node.GPUs))
	}
	samples = Fitting(nodes, samples)
	if !slices.ContainsFunc(samples, func(s Sample) bool { return s.GPUs.Count > 0 }) {
		return nil, fmt.Errorf("share %d nodes: no pod of the trace requests a GPU and fits one of them", len(nodes))
	}
	t.cluster = virtual.NewCluster(c, virtual.Rules{Turns: settings.Turns, Decay: decay, EndsKnown: settings.EndsKnown, Started: t.begin, Ended: t.end})
	for i, u := range settings.Users {
		t.senders[u.Name] = newSender(u, samples, settings.Seed, i)
		if err := t.cluster.Book().Weigh(u.Name, u.Weight); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// begin is called when a pod starts. During the measurement, begin counts the pod. If the pod is a
// GPU pod that arrived during the measurement, begin records how long the pod waited. When a GPU
// pod starts, its user submits another one within a minute.
func (t *trial) begin(ran virtual.Ran) {
	if !t.measuring.IsZero() {
		t.began.add(ran.Pod)
		t.wait(ran, ran.Waited())
	}
	if s, ok := t.senders[ran.Tenant]; ok && ran.Type != fairshare.CPU {
		t.meter.add(gpus(ran.Pod), t.cluster.Now())
		s.waiting--
		t.cluster.After(s.pause(), func() { s.send(t.cluster) })
	}
}

func (t *trial) end(ran virtual.Ran) {
	if _, ok := t.senders[ran.Tenant]; ok {
		t.meter.add(-gpus(ran.Pod), t.cluster.Now())
	}
}

// gpus returns the number of GPUs that a pod requests. The number is a fraction if the pod requests
// a part of a GPU.
func gpus(pod *sched.Pod) float64 {
	return float64(pod.GPUs.Milli) * float64(pod.GPUs.Count) / float64(sched.WholeGPU)
}

func (t *trial) wait(ran virtual.Ran, d time.Duration) {
	if ran.Type != fairshare.CPU && !ran.Created.Before(t.measuring) {
		t.waits[ran.Tenant] = append(t.waits[ran.Tenant], d)
	}
}

// sample records how many GPUs each user holds, and Jain's index of the users' scores.
func (t *trial) sample() {
	var scores []float64
	now := t.cluster.Now()
	for _, u := range t.Users {
		scores = append(scores, t.cluster.Book().Rank(u.Name, fairshare.AnyGPU, now))
		for _, a := range t.cluster.Book().Accounts(u.Name, now) {
			if a.Type != fairshare.CPU {
				t.held[u.Name] += float64(a.Usage) / 1000
			}
		}
	}
	t.jain = append(t.jain, Jain(scores))
}

func (t *trial) outcome() Outcome {
	o := Outcome{Turns: t.Turns, Started: t.began}
	for r := range t.cluster.Pending() {
		t.wait(r, t.cluster.Now().Sub(r.Created))
		if r.Type != fairshare.CPU {
			o.Waiting.add(r.Pod)
		}
	}
	samples := float64(len(t.jain))
	for _, j := range t.jain {
		o.Jain += j / samples
	}
	for _, u := range t.Users {
		one := UserOutcome{u, t.held[u.Name] / samples, t.waits[u.Name]}
		o.Users = append(o.Users, one)
		o.All = append(o.All, one.Waits...)
		o.Allocated += one.GPUs / t.all
	}
	return o
}
