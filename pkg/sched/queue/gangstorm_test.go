package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
	"github.com/numalet/numalet/pkg/sched/queue"
)

const (
	gangs  = 4
	owners = 2 // the pods of each gang have one of 2 owners
	least  = 3 // how many pods of a gang start together
)

// storm simulates a cluster in which random events happen to the pods of some gangs: pods
// arrive, are placed, cannot be bound, succeed, fail and are deleted, in any order.
type storm struct {
	*testing.T
	*rand.Rand
	now       time.Time
	due       []func()
	state     *nodestate.State
	queue     *queue.GangQueue
	proposer  *pipeline.Proposer
	committer *pipeline.Committer
	taken     []sched.List // lists of nodes that the proposer has made and the committer has not committed yet
	binding   []sched.Decision
	alive     []*sched.Pod
	bound     map[string]bool
	done      []*sched.Pod // pods that have succeeded and are not deleted yet
	made      int
}

// TestNobodyIsLost checks two rules with random sequences of events. First, pods of a gang
// may start only if at that moment enough pods of the gang have a node or have succeeded.
// The constant `least` is the number that is enough. Second, when the cluster at last has room
// for all pods, all pods must be bound except those of incomplete gangs.
func TestNobodyIsLost(t *testing.T) {
	for seed := range uint64(60) {
		s := newStorm(t, seed)
		for range 400 {
			s.happen()
		}
		s.calm()
	}
}

func newStorm(t *testing.T, seed uint64) *storm {
	s := &storm{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(0, 0), bound: map[string]bool{}}
	s.state = nodestatetest.New(t, "cpu", filter.Profile{})
	for i := range 5 {
		s.state.SetNode(&sched.Node{Name: fmt.Sprint("node", i), Allocatable: sched.Amounts{CPU: 1000, Pods: 9}})
	}
	now := func() time.Time { return s.now }
	s.queue = queue.NewGangQueue(queue.New(queue.Env{
		Now: now, After: func(_ time.Duration, f func()) { s.due = append(s.due, f) }, FreedSeq: s.state.FreedSeq,
	}, queue.Options{}))
	s.proposer = pipeline.NewProposer(s.state.View, pipeline.ProposerOptions{})
	s.committer = pipeline.NewCommitter(s.state, nil, pipeline.Effects{
		Bind:              func(decision sched.Decision) { s.binding = append(s.binding, decision) },
		MarkUnschedulable: s.queue.MarkUnschedulable, Requeue: s.queue.Requeue, Undone: s.queue.Undone,
	})
	return s
}

func (s *storm) happen() {
	switch s.IntN(10) {
	case 0, 1:
		s.come()
	case 2, 3:
		s.take()
	case 4, 5:
		s.commit()
	case 6, 7:
		s.bind(s.IntN(3) > 0)
	case 8:
		if len(s.alive) > 0 && s.IntN(2) == 0 {
			s.end(s.IntN(len(s.alive)))
		}
	case 9:
		s.pass()
		s.forget()
	}
}

func (s *storm) come() {
	s.made++
	id := fmt.Sprint("gang", s.IntN(gangs))
	pod := &sched.Pod{UID: fmt.Sprintf("%s-%d", id, s.made), Requests: sched.Amounts{CPU: 500, Pods: 1}, Gang: &sched.Gang{ID: id, Owner: fmt.Sprint(s.IntN(owners)), Need: least}}
	s.alive = append(s.alive, pod)
	s.queue.Add(queue.Entry{Pod: pod, Created: s.now, Type: fairshare.CPU})
}

func (s *storm) take() {
	if pod := s.queue.Poll(); pod != nil {
		s.taken = append(s.taken, s.proposer.Propose(pod))
	}
}

func (s *storm) commit() {
	if len(s.taken) == 0 {
		return
	}
	list := s.taken[0]
	s.taken = s.taken[1:]
	before := len(s.binding)
	if ok, _ := s.queue.Permit(list.Pod); ok && s.committer.Commit(list) && len(s.binding) > before {
		id := s.binding[before].Pod.UID[:len("gang0")]
		if n := s.held(id) + s.most(id); n < least {
			s.Fatalf("%v start with %d of %s", s.binding[before:], n, id)
		}
	}
}

// held counts the pods of the gang with the given ID that have a node.
func (s *storm) held(id string) (n int) {
	for _, pod := range s.alive {
		if strings.HasPrefix(pod.UID, id) && s.state.Holds(pod.UID) {
			n++
		}
	}
	return n
}

// succeeded counts the succeeded pods of the gang with the given ID that have the given
// owner.
func (s *storm) succeeded(id, owner string) (n int) {
	for _, pod := range s.done {
		if pod.Gang.ID == id && pod.Gang.Owner == owner {
			n++
		}
	}
	return n
}

// The method `most` counts, for each owner, the succeeded pods of the gang with the given ID, and
// returns the largest of these numbers.
func (s *storm) most(id string) (n int) {
	for owner := range owners {
		n = max(n, s.succeeded(id, fmt.Sprint(owner)))
	}
	return n
}

// bind takes a random decision whose pod is being bound, and records that the pod is bound,
// or that its Binding failed.
func (s *storm) bind(succeeds bool) {
	if len(s.binding) == 0 {
		return
	}
	i := s.IntN(len(s.binding))
	d := s.binding[i]
	s.binding = slices.Delete(s.binding, i, i+1)
	if !succeeds || !slices.ContainsFunc(s.alive, func(pod *sched.Pod) bool { return pod.UID == d.Pod.UID }) {
		s.committer.Undo(d)
		s.freed()
		return
	}
	s.bound[d.Pod.UID] = true
	s.state.Adopt(nodestate.Assignment{UID: d.Pod.UID, Node: d.At.Node, Holding: sched.Hold(d.Pod, d.At)})
	s.queue.Bound(d.Pod.UID, d.Pod.UID[:len("gang0")])
}

// end deletes the pod s.alive[i], or lets it succeed if it is bound. In a cluster, the
// success of a pod may be observed in two ways: one leads to a call of Remove, the other to
// a call of Succeeded. Either may come first, so end calls them in random order.
func (s *storm) end(i int) {
	pod := s.alive[i]
	s.alive = slices.Delete(s.alive, i, i+1)
	events := []func(){func() { s.queue.Remove(pod.UID) }}
	if s.bound[pod.UID] && s.IntN(2) == 0 {
		s.done = append(s.done, pod)
		events = append(events, func() { s.queue.Succeeded(pod.UID, pod.Gang.ID, pod.Gang.Owner) })
	}
	s.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	for _, event := range events {
		event()
	}
	if s.state.Release(pod.UID) {
		s.freed()
	}
}

// forget deletes a random pod that has succeeded, and calls Forgotten for it.
func (s *storm) forget() {
	if len(s.done) > 0 {
		i := s.IntN(len(s.done))
		s.queue.Forgotten(s.done[i].UID)
		s.done = slices.Delete(s.done, i, i+1)
	}
}

func (s *storm) freed() { s.queue.RetryOverdue(0, s.queue.Waiting()) }

// pass advances the time by a minute, after which all back-offs have ended.
func (s *storm) pass() {
	s.now = s.now.Add(time.Minute)
	due := s.due
	s.due = nil
	for _, f := range due {
		f()
	}
}

// calm makes room for all pods in the cluster, schedules them, and checks that all are bound
// except those of incomplete gangs.
func (s *storm) calm() {
	s.state.SetNode(&sched.Node{Name: "ample", Allocatable: sched.Amounts{CPU: 1e6, Pods: 1000}})
	s.freed()
	for range 3 * len(s.alive) {
		s.take()
		s.commit()
		s.bind(true)
		s.pass()
	}
	for _, pod := range s.alive {
		id := pod.UID[:len("gang0")]
		all := 0
		for _, other := range s.alive {
			if strings.HasPrefix(other.UID, id) {
				all++
			}
		}
		if !s.bound[pod.UID] && all+s.succeeded(id, pod.Gang.Owner) >= least {
			e, ok := s.queue.Explain(pod.UID)
			s.Fatalf("%s of %d is not bound: %s, %v", pod.UID, all, e.Reason(), ok)
		}
	}
}
