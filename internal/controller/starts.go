package controller

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/forecast"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// Forecasts per second, and the size of a burst, for all users together. A forecast takes up to half
// a second of CPU time.
const (
	forecastRate  = 0.5
	forecastBurst = 5
)

// learning is the interval at which the run times of ended pods are learned.
const learning = time.Second

// starts forecasts when pending pods will start. It learns run times from all pods that end while
// this process runs, whether it leads or not.
type starts struct {
	state *nodestate.State
	queue *queue.GangQueue
	limit flowcontrol.RateLimiter
	now   func() time.Time

	asking sync.Mutex // guards runs; held during a forecast
	runs   *forecast.Runs

	ended struct { // a separate lock, because the state's lock is held when a pod ends
		sync.Mutex
		runs []run
	}
}

// run is how long a pod ran.
type run struct {
	class forecast.Class
	took  time.Duration
}

func newStarts(state *nodestate.State, q *queue.GangQueue) *starts {
	return &starts{
		state: state, queue: q, limit: flowcontrol.NewTokenBucketRateLimiter(forecastRate, forecastBurst), now: time.Now,
		runs: forecast.NewRuns(),
	}
}

// observe notes how long a released pod ran.
func (s *starts) observe(event nodestate.Event) {
	if event.Was == nil || !event.Was.Bound || event.Was.Since.IsZero() {
		return
	}
	s.ended.Lock()
	defer s.ended.Unlock()
	s.ended.runs = append(s.ended.runs, run{classOf(event.Was), s.now().Sub(event.Was.Since)})
}

func classOf(assignment *nodestate.Assignment) forecast.Class {
	return forecast.Class{Tenant: assignment.Tenant, GPUs: assignment.WholeGPUs + assignment.Parts}
}

// learn learns what observe noted. It needs s.asking.
func (s *starts) learn() {
	s.ended.Lock()
	ended := s.ended.runs
	s.ended.runs = nil
	s.ended.Unlock()
	for _, r := range ended {
		s.runs.Ended(r.class, r.took)
	}
}

// run learns at intervals until ctx ends, so that observe's notes do not pile up.
func (s *starts) run(ctx context.Context) error {
	return every(ctx, learning, func() {
		s.asking.Lock()
		defer s.asking.Unlock()
		s.learn()
	})
}

// forecast estimates when a pending pod will start.
func (s *starts) forecast(explanation queue.Explanation) queueapi.Forecast {
	if !s.limit.TryAccept() {
		return queueapi.Forecast{Unknown: "too many questions at a time: ask again in a few seconds"}
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	s.learn()
	present := s.present(explanation.Pod)
	answer := forecast.Predict(present, s.runs, seed(explanation.UID))
	if answer.Unknown != "" {
		return queueapi.Forecast{Unknown: string(answer.Unknown)}
	}
	f := queueapi.Forecast{P50: answer.P50.Sub(present.Now).Round(time.Second).String()}
	if !answer.P90.IsZero() {
		f.P90 = answer.P90.Sub(present.Now).Round(time.Second).String()
	}
	return f
}

// seed makes the answers for a pod differ only if the cluster has changed.
func seed(uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// present returns the cluster as it is, with what is before a pod in the queue.
func (s *starts) present(pod *sched.Pod) forecast.Present {
	p := forecast.Present{Now: s.now(), Nodes: slices.Collect(s.state.View().Nodes()), Pod: waiting(pod)}
	for _, node := range p.Nodes {
		for _, a := range s.state.Assignments(node.Name) {
			p.Running = append(p.Running, running(a, p.Now))
		}
	}
	ahead := s.queue.Ahead(pod.UID)
	for _, before := range append(ahead, s.reserving(p.Nodes, ahead, pod)...) {
		members, need := before.Together()
		for _, m := range members[:min(need, len(members))] {
			p.Ahead = append(p.Ahead, waiting(m))
		}
	}
	return p
}

// reserving returns the pods that nodes are reserved for, other than those ahead of a pod and the pod
// itself. These pods have other types.
func (s *starts) reserving(nodes []*sched.Node, ahead []*sched.Pod, pod *sched.Pod) (others []*sched.Pod) {
	known := map[string]bool{pod.Claim(): true}
	for _, p := range ahead {
		known[p.Claim()] = true
	}
	for _, node := range nodes {
		if node.Reserved == nil || known[node.Reserved.UID] {
			continue
		}
		known[node.Reserved.UID] = true
		if e, ok := s.queue.Explain(node.Reserved.UID); ok {
			others = append(others, e.Pod)
		}
	}
	return others
}

func waiting(pod *sched.Pod) forecast.Waiting {
	return forecast.Waiting{Class: forecast.ClassOf(pod, pod.Tenant), Pod: pod}
}

func running(assignment *nodestate.Assignment, now time.Time) forecast.Running {
	r := forecast.Running{Class: classOf(assignment), UID: assignment.UID, Node: assignment.Node, Holds: assignment.Holding, Since: assignment.Since, Ends: assignment.Ends}
	if r.Since.IsZero() {
		r.Since = now
	}
	return r
}
