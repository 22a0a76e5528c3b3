package fairness

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Sample is a pod as users send them, and how long it ran.
type Sample struct {
	*sched.Pod
	Took time.Duration
}

// User submits pods all the time, so that a number of its GPU pods, Demand, are waiting.
// When one of them starts, the user submits the next within a minute. Pods without GPUs
// come between them.
type User struct {
	Name   string
	Weight fairshare.Weight
	Demand int
}

// Users returns users whose demand grows from least to most, each by the same factor.
// Every fourth has a weight of 2.
func Users(n, least, most int) []User {
	users := make([]User, n)
	for i := range users {
		demand := float64(least) * math.Pow(float64(most)/float64(least), float64(i)/float64(max(1, n-1)))
		users[i] = User{fmt.Sprintf("user-%02d", i+1), fairshare.DefaultWeight, int(math.Round(demand))}
		if i%4 == 3 {
			users[i].Weight = 2
		}
	}
	return users
}

// sender sends a user's work. The samples are drawn at random, independently of the order
// of pods in the trial.
type sender struct {
	User
	samples []Sample
	rand    *rand.Rand
	waiting int
	sent    int
}

// newSender returns the sender of the i-th user.
func newSender(u User, samples []Sample, seed uint64, i int) *sender {
	return &sender{User: u, samples: samples, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
}

// pause returns how long it takes until the user notices that a pod has started.
func (s *sender) pause() time.Duration { return time.Duration(s.rand.Int64N(int64(time.Minute))) }

// send submits as many pods as are missing.
func (s *sender) send(v *virtual.Cluster) {
	for s.waiting < s.Demand {
		sample := s.samples[s.rand.IntN(len(s.samples))]
		pod := *sample.Pod
		s.sent++
		pod.UID = fmt.Sprintf("%s-%06d", s.Name, s.sent)
		pod.Name = pod.UID
		if pod.GPUs.Count > 0 {
			s.waiting++
		}
		v.Submit(virtual.Work{Pod: &pod, Tenant: s.Name, Takes: sample.Took})
	}
}

// Fitting returns the samples that fit some node when it is empty.
func Fitting(nodes []*sched.Node, samples []Sample) []Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		return !slices.ContainsFunc(nodes, func(node *sched.Node) bool { return fits(s.Pod, node) })
	})
}

// fits reports whether a pod fits a node that is empty.
func fits(pod *sched.Pod, node *sched.Node) bool {
	empty := *node
	empty.Free = node.Allocatable
	return !filter.Check(pod, &empty).Refuses()
}
