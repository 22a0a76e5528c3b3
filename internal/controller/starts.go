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

// forecastRate is how many forecasts are allowed per second, and forecastBurst how many at once,
// for all users together. A forecast takes up to half a second of CPU time.
const (
	forecastRate  = 0.5
	forecastBurst = 5
)

// learning is the interval at which the run times of ended pods are added to the statistics from
// which forecasts are made.
const learning = time.Second

// The type `starts` makes forecasts of when pending pods will start. For each pod that ends while
// this process runs, and whose start time is known, it records how long the pod ran. A standby
// replica records this as well.
type starts struct {
	state *nodestate.State
	queue *queue.GangQueue
	limit flowcontrol.RateLimiter
	now   func() time.Time

	asking sync.Mutex // guards the statistics of run times in the next field; held during a forecast, which reads them
	runs   *forecast.Runs

	ended struct { // has its own lock: the method `observe` runs under the state's lock, so it must not wait for the lock `asking`, which is held during a forecast
		sync.Mutex
		runs []run
	}
}

// run is how long one pod ran.
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

// observe records how long an ended pod ran. It is a subscriber of the state of the nodes.
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

// learn adds the run times that the method `observe` has recorded to the statistics s.runs. The
// caller holds s.asking.
func (s *starts) learn() {
	s.ended.Lock()
	ended := s.ended.runs
	s.ended.runs = nil
	s.ended.Unlock()
	for _, r := range ended {
		s.runs.Ended(r.class, r.took)
	}
}

// run calls the method `learn` at intervals until ctx is done. Each call empties the list of
// recorded run times, so the list stays short even if nobody requests a forecast.
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

// seed returns the random seed for the forecasts of a pod. The seed depends only on the pod's UID,
// so that repeated forecasts for a pod differ only if the cluster has changed.
func seed(uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// present returns the present state of the cluster, from which a forecast for a pod starts: the
// nodes, the running pods, and the pending pods that are expected to get nodes before the pod.
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

// reserving returns the pods for which nodes are reserved. These pods get the reserved resources
// before the given pod does. The result leaves out the given pod, and the pods in the list `ahead`,
// which come before the given pod in the queue. Most of the returned pods wait for another type of
// resource than the given pod, so they are not in that list.
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
