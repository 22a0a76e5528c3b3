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

// Settings configure a trial.
type Settings struct {
	Users     []User
	Seed      uint64
	For       time.Duration // of which the second half is measured
	Settle    float64       // seconds, of scores
	EndsKnown bool
	Profile   filter.Profile
	Turns     virtual.Turns
}

// Outcome is the result of a trial, measured in its second half. Amounts are in cards.
type Outcome struct {
	Turns     virtual.Turns
	Jain      float64 // of scores per weight: the mean of those of every hour
	Allocated float64 // part of all cards
	Began     Pods
	Waiting   Pods  // at the end, that ask for cards
	All       Waits // of work that came in that half: until it began, or to the end
	Users     []UserOutcome
}

// UserOutcome is the result for one user.
type UserOutcome struct {
	User
	Cards float64 // that it held on average
	Waits Waits
}

// Share runs a trial in which users share nodes, for at least two hours.
func Share(nodes []*sched.Node, samples []Sample, s Settings) (Outcome, error) {
	if s.For < 2*sampling {
		return Outcome{}, fmt.Errorf("share %d nodes for %s: want %s at least", len(nodes), s.For, 2*sampling)
	}
	t, err := newTrial(nodes, samples, s)
	if err != nil {
		return Outcome{}, err
	}
	t.start()
	t.cluster.Run(s.For / 2)
	t.measuring = t.cluster.Now()
	t.cluster.Every(sampling, t.sample)
	t.cluster.Run(s.For - s.For/2)
	return t.outcome(), nil
}

// sampling is the interval between samples of the users' amounts.
const sampling = time.Hour

// trial is a running trial.
type trial struct {
	Settings
	cluster   *virtual.Cluster
	senders   map[string]*sender
	all       float64 // cards
	measuring time.Time
	jain      []float64
	held      map[string]float64 // by user, summed up over the samples
	began     Pods
	waits     map[string]Waits
	meter     meter // of the users' cards
}

// start starts all users.
func (t *trial) start() {
	for _, u := range t.Users {
		t.senders[u.Name].send(t.cluster)
	}
}

func newTrial(nodes []*sched.Node, samples []Sample, s Settings) (*trial, error) {
	decay, err := fairshare.Settle(s.Settle)
	if err != nil {
		return nil, err
	}
	c, err := nodestate.New(s.Profile)
	if err != nil {
		return nil, err
	}
	t := &trial{Settings: s, senders: map[string]*sender{}, held: map[string]float64{}, waits: map[string]Waits{}}
	for _, n := range nodes {
		c.SetNode(n)
		t.all += float64(len(n.GPUs))
	}
	samples = suiting(nodes, samples)
	if !slices.ContainsFunc(samples, func(s Sample) bool { return s.GPUs.Count > 0 }) {
		return nil, fmt.Errorf("share %d nodes: no sample asks for a card and fits one of them", len(nodes))
	}
	t.cluster = virtual.NewCluster(c, virtual.Rules{Turns: s.Turns, Decay: decay, EndsKnown: s.EndsKnown, Began: t.begin, Ended: t.end})
	for i, u := range s.Users {
		t.senders[u.Name] = newSender(u, samples, s.Seed, i)
		if err := t.cluster.Book().Weigh(u.Name, u.Weight); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// begin records the waiting time of work that arrived since measuring began, and lets its
// user send more.
func (t *trial) begin(r virtual.Ran) {
	if !t.measuring.IsZero() {
		t.began.add(r.Pod)
		t.wait(r, r.Waited())
	}
	if s, ok := t.senders[r.Tenant]; ok && r.Type != fairshare.CPU {
		t.meter.add(cards(r.Pod), t.cluster.Now())
		s.waiting--
		t.cluster.After(s.pause(), func() { s.send(t.cluster) })
	}
}

func (t *trial) end(r virtual.Ran) {
	if _, ok := t.senders[r.Tenant]; ok {
		t.meter.add(-cards(r.Pod), t.cluster.Now())
	}
}

// cards returns how many cards a pod requests; parts of cards are fractions.
func cards(p *sched.Pod) float64 {
	return float64(p.GPUs.Milli) * float64(p.GPUs.Count) / float64(sched.WholeGPU)
}

func (t *trial) wait(r virtual.Ran, d time.Duration) {
	if r.Type != fairshare.CPU && !r.Created.Before(t.measuring) {
		t.waits[r.Tenant] = append(t.waits[r.Tenant], d)
	}
}

// sample samples the users' amounts.
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
	o := Outcome{Turns: t.Turns, Began: t.began}
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
		o.Allocated += one.Cards / t.all
	}
	return o
}
