package queue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// TestScenarios walks through testdata/*.txt, with Options.Strict:
//
//	score ann T4 7.8             what ann has used of T4 lately, per weight
//	add a1 ann T4 [2] [prio=5]   a pod of ann's comes, which asks for so many cards, else 1
//	next                         a scheduler takes the pod whose turn it is
//	permit a1                    it has looked around, and asks whether a1 may be bound
//	placed a1                    a1 has a node, which is being written down
//	blocked a1                   no node suits a1
//	lost a1                      others were faster, or a1 could not be bound
//	bound a1, gone a1            it is pending no more
//	free T4 2                    somewhere so many cards are free now
//	reserve a1, release a1       a node holds something back for a1, or no more
//	bar ann, unbar ann           ann's pods have to wait, whatever is free; need not any more
//	wait 30s                     time passes
//	show                         who is where, and waits for what
//	why a1                       the same of one, with who is before it
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return newScene(Options{Strict: true}) })
}

// scene is a queue, and the world that it is told of.
type scene struct {
	*Queue
	now    time.Time
	timers []timer
	gains  uint64
	seen   map[string]uint64  // gains, when a pod was taken
	scores map[string]float64 // by tenant and type
	barred map[string]bool    // tenants
	pods   map[string]*sched.Pod
	answer strings.Builder
}

type timer struct {
	at time.Time
	do func()
}

func newScene(o Options) *scene {
	s := &scene{now: time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC), seen: map[string]uint64{}, scores: map[string]float64{}, barred: map[string]bool{}, pods: map[string]*sched.Pod{}}
	s.Queue = New(Env{
		Now:   func() time.Time { return s.now },
		After: func(d time.Duration, f func()) { s.timers = append(s.timers, timer{s.now.Add(d), f}) },
		Gains: func() uint64 { return s.gains },
		Rank:  func(tenant string, t fairshare.Type) float64 { return s.scores[tenant+" "+string(t)] },
	}, o)
	return s
}

// Run obeys one command.
func (s *scene) Run(command []string) string {
	return scenario.Obey(&s.answer, map[string]func(args []string){
		"score": s.score, "add": s.add, "next": s.next, "permit": s.permit, "free": s.free, "wait": s.wait, "show": s.show, "why": s.why,
		"placed":  func(args []string) { s.Placed(s.pods[args[0]]) },
		"blocked": func(args []string) { s.Park(s.pods[args[0]], s.seen[args[0]]) },
		"lost":    func(args []string) { s.Requeue(s.pods[args[0]]) },
		"bound":   func(args []string) { s.Remove(args[0]) },
		"gone":    func(args []string) { s.Remove(args[0]) },
		"reserve": func(args []string) { s.Yield(args[0]) },
		"bar":     func(args []string) { s.barred[args[0]] = true },
		"unbar":   func(args []string) { delete(s.barred, args[0]); s.Ease(args[0]) },
		"release": func(args []string) { s.Insist(args[0]) },
	}, command)
}

func (s *scene) score(args []string) {
	x, err := strconv.ParseFloat(args[2], 64)
	if err != nil {
		panic(err)
	}
	s.scores[args[0]+" "+args[1]] = x
	s.Rescore(args[0])
}

func (s *scene) add(args []string) {
	e := Entry{Pod: &sched.Pod{UID: args[0], Name: args[0], GPUs: sched.GPUAsk{Count: 1}}, Tenant: args[1], Type: fairshare.Type(args[2]), Created: s.now}
	for _, arg := range args[3:] {
		if prio, ok := strings.CutPrefix(arg, "prio="); ok {
			e.Priority = int32(scenario.Number(prio))
		} else {
			e.Pod.GPUs.Count = scenario.Number(arg)
		}
	}
	e.Pod.GPUs.Types = []string{args[2]}
	e.Pod.Tenant, e.Pod.Wait = args[1], func(*sched.Pod) sched.Reason {
		if s.barred[args[1]] {
			return sched.Reason{Code: sched.Anywhere, Detail: args[1] + " has too much"}
		}
		return sched.Reason{}
	}
	s.pods[args[0]] = e.Pod
	s.Add(e)
}

func (s *scene) next([]string) {
	if pod := s.Poll(); pod != nil {
		s.seen[pod.UID] = s.gains
		fmt.Fprintf(&s.answer, "%s is taken\n", pod)
		return
	}
	fmt.Fprintln(&s.answer, "it is nobody's turn")
}

func (s *scene) permit(args []string) {
	if s.Permit(s.pods[args[0]]) {
		fmt.Fprintf(&s.answer, "%s may be bound\n", args[0])
		return
	}
	e, ok := s.Explain(args[0])
	if !ok {
		fmt.Fprintf(&s.answer, "%s is not pending\n", args[0])
		return
	}
	fmt.Fprintf(&s.answer, "%s may not be bound: %s\n", args[0], e.Reason())
}

func (s *scene) free(args []string) {
	s.gains++
	s.Wake(func(pod *sched.Pod) bool {
		return pod.GPUs.Types[0] == args[0] && pod.GPUs.Count <= scenario.Number(args[1])
	})
}

func (s *scene) wait(args []string) {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		panic(err)
	}
	s.pass(d)
}

// pass lets time pass and does what is due meanwhile.
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

func (s *scene) show([]string) {
	for _, e := range s.List() {
		fmt.Fprintf(&s.answer, "%-4s %d. %-6s score %-4.2g %-8s %s\n", e.Type, e.Place, e.Name, e.Score, e.State.String()+":", e.Reason())
	}
}

func (s *scene) why(args []string) {
	e, ok := s.Explain(args[0])
	if !ok {
		fmt.Fprintf(&s.answer, "%s is not pending\n", args[0])
		return
	}
	fmt.Fprintln(&s.answer, e)
}
