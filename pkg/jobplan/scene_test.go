package jobplan

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestScenarios runs the scripts in testdata/*.txt. After each command, all steps of the plans that
// Next returns are carried out, and the job's state is printed. The commands are:
//
//	job replicas=2 minAvailable=2 backoffLimit=1 deadline=1m ttl=5s inPlace flaw=...
//	                     creates the job; flaw is why its spec is invalid (Job.Invalid)
//	run 0 1, ready 0     starts pods 0 and 1; makes pod 0 ready
//	succeed 0, fail 0    ends a pod
//	disrupt 0            ends the pod with the state Disrupted, as an eviction does
//	restart 0            restarts a failed container of the pod
//	lose 0               deletes the pod
//	gone 0               ends a pod that was deleted while it ran
//	suspend, resume      changes spec.suspend
//	replicas 3           changes spec.replicas
//	wait 10s             advances the time
//	forget               restarts the caller of Next, which then no longer knows Plan.Requeue
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(_ *testing.T, out *scenario.Answer) scenario.Commands {
		return (&scene{now: morning, answer: out}).commands()
	})
}

// grace is the grace period of each deletion.
const grace = 30 * time.Second

var morning = time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)

// scene is a job and its pods in a simulated cluster, in which each plan is carried out.
type scene struct {
	now      time.Time
	job      Job
	progress Progress
	pods     []Pod
	again    time.Time
	removed  bool
	answer   *scenario.Answer
}

// commands returns a function for each command, by the command's name.
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"job":      s.setJob,
		"run":      s.each(func(pod *Pod) { pod.State, pod.Started, pod.Node = Running, true, "n1" }),
		"ready":    s.each(func(pod *Pod) { pod.Ready = true }),
		"succeed":  s.ended(Succeeded, ""),
		"fail":     s.ended(Failed, "container main ended with exit code 1 (Error)"),
		"disrupt":  s.ended(Disrupted, "evicted"),
		"restart":  s.each(func(pod *Pod) { pod.Restarts++ }),
		"lose":     s.each(s.delete),
		"gone":     s.gone,
		"suspend":  func(*scenario.Command) { s.job.Suspend = true },
		"resume":   func(*scenario.Command) { s.job.Suspend = false },
		"replicas": func(c *scenario.Command) { s.job.Replicas = c.Int(0) },
		"wait":     s.wait,
		"forget":   func(*scenario.Command) { s.again = time.Time{} },
	}.After(func(*scenario.Command) {
		s.runPlans()
		s.show()
	})
}

func (s *scene) setJob(c *scenario.Command) {
	s.job = Job{
		Replicas: c.IntValue("replicas", 1), MinAvailable: c.IntValue("minAvailable", 1), BackoffLimit: c.IntValue("backoffLimit", 6),
		Suspend: c.Has("suspend"), InPlace: c.Has("inPlace"), Invalid: c.Value("flaw"),
	}
	if c.Has("deadline") {
		s.job.Deadline = scenario.Duration(c.Value("deadline"))
	}
	if c.Has("ttl") {
		ttl := scenario.Duration(c.Value("ttl"))
		s.job.TTL = &ttl
	}
}

func (s *scene) each(change func(*Pod)) func(*scenario.Command) {
	return func(c *scenario.Command) {
		for _, arg := range c.Args() {
			at := slices.IndexFunc(s.pods, func(pod Pod) bool { return pod.Index == scenario.Int(arg) })
			if at < 0 {
				c.Line("there is no pod %s", arg)
				continue
			}
			change(&s.pods[at])
		}
	}
}

func (s *scene) ended(state State, why string) func(*scenario.Command) {
	return s.each(func(pod *Pod) { pod.State, pod.Why, pod.Ended, pod.Ready = state, why, s.now, false })
}

// delete marks a pod as being deleted. If the pod is not running, delete also removes it.
func (s *scene) delete(pod *Pod) {
	pod.Deleting, pod.Gone = true, s.now.Add(grace)
	if pod.State != Running {
		s.forget(pod.Index)
	}
}

func (s *scene) gone(c *scenario.Command) {
	for _, arg := range c.Args() {
		s.forget(scenario.Int(arg))
	}
}

// forget removes a terminating pod from the scene.
func (s *scene) forget(index int) {
	s.pods = slices.DeleteFunc(s.pods, func(pod Pod) bool { return pod.Deleting && pod.Index == index })
}

// runPlans calls Next and carries out the returned plan. It repeats this until a plan creates and
// deletes no pod.
func (s *scene) runPlans() {
	for range 10 {
		plan := Next(s.job, s.progress, s.pods, s.now)
		s.progress, s.again = plan.Progress, time.Time{}
		if plan.Requeue > 0 {
			s.again = s.now.Add(plan.Requeue)
		}
		for _, n := range plan.Events {
			kind := "Normal"
			if n.Warning {
				kind = "Warning"
			}
			s.say("%s %s: %s", kind, n.Reason, n.Message)
		}
		s.carryOut(plan)
		if len(plan.Create)+len(plan.Delete) == 0 {
			return
		}
	}
	s.say("it never comes to rest")
}

func (s *scene) carryOut(plan Plan) {
	for _, b := range plan.Create {
		s.say("make pod %d, attempt %d", b.Index, b.Attempt)
		s.pods = append(s.pods, Pod{Index: b.Index, Attempt: b.Attempt, Unstarted: b.Unstarted, Name: fmt.Sprintf("train-%d", b.Index)})
	}
	for _, i := range plan.Delete {
		s.say("delete pod %d", i)
		s.delete(&s.pods[slices.IndexFunc(s.pods, func(pod Pod) bool { return pod.Index == i })])
	}
	slices.SortFunc(s.pods, func(a, b Pod) int { return cmp.Compare(a.Index, b.Index) })
	if plan.Remove && !s.removed {
		s.removed = true
		s.say("delete the job")
	}
}

// wait runs the script command `wait DURATION`, which advances the time. It calls runPlans at each
// time that the last plan has requested (Plan.Requeue).
func (s *scene) wait(c *scenario.Command) {
	until := s.now.Add(c.Duration(0))
	for !s.again.IsZero() && !s.again.After(until) {
		s.now = s.again
		s.runPlans()
	}
	s.now = until
}

func (s *scene) show() {
	progress := s.progress
	s.say("%s: %s", progress.Phase, progress.Message)
	s.say("  active %d, ready %d, succeeded %d (%v), failed %d", progress.Active, progress.Ready, len(progress.Done), progress.Done, progress.Failed())
}

func (s *scene) say(format string, args ...any) {
	s.answer.Line("%5s  "+format, append([]any{s.now.Sub(morning).Round(time.Second).String()}, args...)...)
}
