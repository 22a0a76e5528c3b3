package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestGangScenarios runs the scripts testdata/gang/*.txt, which use these commands:
//
//	add a [train 3]   adds pod a of gang train, of which 3 pods start together; with
//	                  [train 3 job], a Job named job owns the pod and replaces failed pods
//	next              calls Next
//	permit train      calls Permit for what Next returned
//	placed a          pod a has got a node, and is being bound
//	unbound a         the Binding of pod a failed
//	blocked train     too few pods of the gang fit
//	lost a            other pods took the node that pod a was to get
//	bound a [train]   pod a is bound
//	gone a            pod a has ended, or was deleted
//	done a train job  pod a of gang train, which the Job named job owns, has succeeded
//	forgotten a       pod a was deleted after it had succeeded
//	free              resources have become free
//	show              prints what each pod waits for
func TestGangScenarios(t *testing.T) {
	scenario.WalkFiles(t, "testdata/gang/*.txt", func(*testing.T, *scenario.Answer) scenario.Commands { return newScene().commands() })
}

// scene has a GangQueue, a clock, and the pods of a scenario.
type scene struct {
	*queue.GangQueue
	now  time.Time
	due  []func()
	pods map[string]*sched.Pod // by name: the pod as it was last added, or as Next returned it after that
}

func newScene() *scene {
	s := &scene{now: time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC), pods: map[string]*sched.Pod{}}
	now := func() time.Time { return s.now }
	s.GangQueue = queue.NewGangQueue(queue.New(queue.Env{
		Now: now, After: func(_ time.Duration, f func()) { s.due = append(s.due, f) }, FreedSeq: func() uint64 { return 0 },
	}, queue.Options{Strict: true}))
	return s
}

// commands returns the functions that execute the commands of a scenario (see
// TestGangScenarios). The clock advances by a second before each command.
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"add": s.add, "next": s.next, "show": s.show,
		"permit":    func(c *scenario.Command) { ok, _ := s.Permit(s.pods[c.Arg(0)]); c.Line("%t", ok) },
		"blocked":   func(c *scenario.Command) { s.MarkUnschedulable(s.pods[c.Arg(0)], 0) },
		"placed":    func(c *scenario.Command) { s.Placed(s.pods[c.Arg(0)]) },
		"unbound":   func(c *scenario.Command) { s.Undone(s.pods[c.Arg(0)]) },
		"lost":      func(c *scenario.Command) { s.Requeue(s.pods[c.Arg(0)], sched.Reason{}) },
		"bound":     func(c *scenario.Command) { s.Bound(c.Arg(0), c.Opt(1)) },
		"gone":      func(c *scenario.Command) { s.Remove(c.Arg(0)) },
		"done":      func(c *scenario.Command) { s.Succeeded(c.Arg(0), c.Arg(1), c.Arg(2)) },
		"forgotten": func(c *scenario.Command) { s.Forgotten(c.Arg(0)) },
		"free":      func(*scenario.Command) { s.RetryOverdue(0, s.Waiting()) },
	}.Before(func() { s.later(time.Second) })
}

func (s *scene) later(d time.Duration) {
	s.now = s.now.Add(d)
	due := s.due
	s.due = nil
	for _, f := range due {
		f()
	}
}

func (s *scene) add(c *scenario.Command) {
	pod := &sched.Pod{UID: c.Arg(0), Name: c.Arg(0)}
	if c.Opt(1) != "" {
		pod.Gang = &sched.Gang{ID: c.Arg(1), Need: c.Int(2), Owner: c.Opt(3)}
	}
	s.pods[pod.Name] = pod
	s.Add(queue.Entry{Pod: pod, Created: s.now, Type: fairshare.CPU, Tenant: "ann"})
}

func (s *scene) next(c *scenario.Command) {
	pod := s.Poll()
	if pod == nil {
		c.Line("nobody")
		return
	}
	s.pods[pod.Name] = pod
	if pod.Gang == nil {
		c.Line("%s", pod)
		return
	}
	c.Line("%s: %d of %v", pod, pod.Gang.Need, pod.Gang.Members)
}

func (s *scene) show(c *scenario.Command) {
	for _, explanation := range s.List() {
		if one, ok := s.Explain(explanation.UID); !ok || one.Reason() != explanation.Reason() {
			fmt.Fprintf(c, "but alone it is said %q, %v of ", one.Reason(), ok)
		}
		c.Line("%s (%d): %s", explanation.Name, explanation.Position, explanation.Reason())
	}
}
