package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// TestScenarios runs the scripts testdata/*.txt, on a queue with Options.Strict. They
// use these commands:
//
//	score ann T4 7.8             sets ann's score for the type T4
//	add a1 ann T4 [2] [prio=5]   adds a pod of ann that requests 2 GPUs (default 1)
//	next                         calls Next
//	permit a1                    calls Permit for a1
//	placed a1                    a1, which blocks the pods behind it, has got a node
//	unbound a1                   the Binding of a1 failed
//	blocked a1                   a1 fits no node
//	lost a1                      other pods took the node that a1 was to get
//	bound a1, gone a1            a1 is no longer pending
//	free T4 2                    2 GPUs of a node have become free
//	reserve a1, release a1       calls AllowBypass or Block for a1
//	bar ann, unbar ann           makes ann's pods wait as if a quota were exhausted, or ends that
//	wait 30s                     advances the time
//	show                         prints the state of each pod, and what it waits for
//	why a1                       prints the same for a1, with the pods ahead of it
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(*testing.T, *scenario.Answer) scenario.Commands {
		return newScene(Options{Strict: true}).commands()
	})
}

// scene has a queue and its environment (Env). The commands of a scenario change both.
type scene struct {
	*Queue
	now      time.Time
	timers   []timer
	freedSeq uint64
	seen     map[string]uint64  // by pod: Env.FreedSeq when Next returned the pod
	scores   map[string]float64 // by tenant and type
	waiting  map[string]bool    // tenants whose pods have to wait (sched.Pod.Wait)
	pods     map[string]*sched.Pod
}

// mostGPUs is the largest number of GPUs of a node in the simulated cluster. A pod that
// requests more GPUs is hopeless (Env.Hopeless).
const mostGPUs = 8

type timer struct {
	at time.Time
	do func()
}

func newScene(o Options) *scene {
	s := &scene{now: time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC), seen: map[string]uint64{}, scores: map[string]float64{}, waiting: map[string]bool{}, pods: map[string]*sched.Pod{}}
	s.Queue = New(Env{
		Now:      func() time.Time { return s.now },
		After:    func(d time.Duration, f func()) { s.timers = append(s.timers, timer{s.now.Add(d), f}) },
		FreedSeq: func() uint64 { return s.freedSeq },
		Hopeless: func(pod *sched.Pod) bool { return pod.GPUs.Count > mostGPUs },
		Rank: func(tenant string, resourceType fairshare.Type) float64 {
			return s.scores[tenant+" "+string(resourceType)]
		},
	}, o)
	return s
}

// commands returns the functions that execute the commands of a scenario (see
// TestScenarios).
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"score": s.score, "add": s.add, "next": s.next, "permit": s.permit, "free": s.free, "show": s.show, "why": s.why,
		"placed":  func(c *scenario.Command) { s.Placed(s.pods[c.Arg(0)]) },
		"unbound": func(c *scenario.Command) { s.Undone(s.pods[c.Arg(0)]) },
		"blocked": func(c *scenario.Command) { s.MarkUnschedulable(s.pods[c.Arg(0)], s.seen[c.Arg(0)]) },
		"lost":    func(c *scenario.Command) { s.Requeue(s.pods[c.Arg(0)], sched.Reason{}) },
		"bound":   func(c *scenario.Command) { s.Remove(c.Arg(0)) },
		"gone":    func(c *scenario.Command) { s.Remove(c.Arg(0)) },
		"reserve": func(c *scenario.Command) { s.AllowBypass(c.Arg(0)) },
		"release": func(c *scenario.Command) { s.Block(c.Arg(0)) },
		"bar":     func(c *scenario.Command) { s.bar(c.Arg(0)) },
		"unbar":   func(c *scenario.Command) { s.unbar(c.Arg(0)) },
		"wait":    func(c *scenario.Command) { s.pass(c.Duration(0)) },
	}
}

func (s *scene) bar(tenant string) { s.waiting[tenant] = true }

func (s *scene) unbar(tenant string) {
	delete(s.waiting, tenant)
	s.ReactivateTenant(tenant)
}

func (s *scene) score(c *scenario.Command) {
	s.setScore(c.Arg(0), c.Arg(1), c.Float(2))
}

func (s *scene) setScore(tenant, kind string, x float64) {
	s.scores[tenant+" "+kind] = x
	s.Rescore(tenant)
}

func (s *scene) add(c *scenario.Command) {
	gpus := 1
	if c.Opt(3) != "" {
		gpus = c.Int(3)
	}
	s.arrive(c.Arg(0), c.Arg(1), c.Arg(2), gpus, int32(c.IntValue("prio", 0)))
}

// arrive adds a pod that requests GPUs of a type.
func (s *scene) arrive(name, tenant, kind string, gpus int, priority int32) {
	e := Entry{Pod: &sched.Pod{UID: name, Name: name, GPUs: sched.GPURequest{Count: gpus, Milli: sched.WholeGPU}}, Tenant: tenant, Type: fairshare.Type(kind), Created: s.now}
	e.Priority = priority
	e.Pod.GPUs.Types = []string{kind}
	e.Pod.Topics = []sched.Topic{{Key: []string{"even", "odd"}[gpus%2]}}
	e.Pod.Tenant, e.Pod.Wait = tenant, func(*sched.Pod) sched.Reason {
		if s.waiting[tenant] {
			return sched.Reason{Code: sched.Anywhere, Detail: tenant + " has too much"}
		}
		return sched.Reason{}
	}
	s.pods[name] = e.Pod
	s.Add(e)
}

func (s *scene) next(c *scenario.Command) {
	if pod := s.Poll(); pod != nil {
		s.seen[pod.UID] = s.freedSeq
		c.Line("%s is taken", pod)
		return
	}
	c.Line("it is nobody's turn")
}

func (s *scene) permit(c *scenario.Command) {
	name := c.Arg(0)
	if ok, awaited := s.Permit(s.pods[name]); ok {
		c.Line("%s may be bound%s", name, map[bool]string{true: ", and is awaited"}[awaited])
		return
	}
	e, ok := s.Explain(name)
	if !ok {
		c.Line("%s is not pending", name)
		return
	}
	c.Line("%s may not be bound: %s", name, e.Reason())
}

func (s *scene) free(c *scenario.Command) {
	s.freedSeq++
	s.Freed(freeGPUs(c.Arg(0), c.Int(1)))
}

// freeGPUs returns a node with free GPUs of a type.
func freeGPUs(kind string, count int) *sched.Node {
	return &sched.Node{Name: "n", GPUs: slices.Repeat([]sched.GPU{{Type: kind, Free: sched.WholeGPU}}, count)}
}

// pass advances the time and calls the timers that are due.
func (s *scene) pass(d time.Duration) {
	until := s.now.Add(d)
	for {
		slices.SortStableFunc(s.timers, func(a, b timer) int { return a.at.Compare(b.at) })
		if len(s.timers) == 0 || s.timers[0].at.After(until) {
			s.now = until
			return
		}
		due := s.timers[0]
		s.timers = s.timers[1:]
		s.now = due.at
		due.do()
	}
}

func (s *scene) show(c *scenario.Command) {
	for _, explanation := range s.List() {
		c.Line("%-4s %d. %-6s score %-4.2g %-16s %s", explanation.Type, explanation.Position, explanation.Name, explanation.Score, explanation.State.String()+":", explanation.Reason())
	}
}

func (s *scene) why(c *scenario.Command) {
	e, ok := s.Explain(c.Arg(0))
	if !ok {
		c.Line("%s is not pending", c.Arg(0))
		return
	}
	c.Line("%s", e)
}
