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

// Sample is a pod of which users submit copies, and how long each copy runs.
type Sample struct {
	*sched.Pod
	Took time.Duration
}

// User submits pods all the time, so that the number of its waiting GPU pods stays at Demand.
// When a GPU pod starts, the user submits another GPU pod within a minute. The user also submits
// pods without GPUs, which do not count toward Demand.
type User struct {
	Name   string
	Weight fairshare.Weight
	Demand int
}

// Users returns n users. The first user has the demand given as `least`, and the last user has the
// demand given as `most`. From each user to the next, the demand grows by the same factor. Every
// fourth user has a weight of 2; the others have the default weight.
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

// sender submits the pods of one user. It draws the samples with a random number generator of its
// own.
type sender struct {
	User
	samples []Sample
	rand    *rand.Rand
	waiting int
	sent    int
}

// newSender returns the sender for one user. The user's position i in Settings.Users makes the
// random numbers of each user different.
func newSender(u User, samples []Sample, seed uint64, i int) *sender {
	return &sender{User: u, samples: samples, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
}

// pause returns a random time of less than a minute, after which the user notices that a pod has
// started.
func (s *sender) pause() time.Duration { return time.Duration(s.rand.Int64N(int64(time.Minute))) }

// send submits random samples until the number of waiting GPU pods of the user is User.Demand.
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

// Fitting returns the samples that fit at least one of the nodes if no other pod is on that node.
func Fitting(nodes []*sched.Node, samples []Sample) []Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		return !slices.ContainsFunc(nodes, func(node *sched.Node) bool { return fits(s.Pod, node) })
	})
}

// fits reports whether a pod fits a node if no other pod is on it.
func fits(pod *sched.Pod, node *sched.Node) bool {
	empty := *node
	empty.Free = node.Allocatable
	return !filter.Check(pod, &empty).Refuses()
}
