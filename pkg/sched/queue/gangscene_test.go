package queue_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestGangScenarios walks through testdata/gang/*.txt:
//
//	add a [train 3]   pod a comes, of gang train, 3 of which start together; [train 3 job]
//	                  is made anew by job when it fails
//	next              a scheduler takes whose turn it is
//	permit train      it asks whether those that it took may be placed
//	blocked train     too few have room
//	placed a          a has its place, and is being bound
//	lost a            it could not be bound
//	bound a [train]   it is bound
//	gone a            it has ended, or was deleted
//	done a train job  it has succeeded
//	forgotten a       it was deleted after that
//	free              something has become free
//	show              who waits for what
func TestGangScenarios(t *testing.T) {
	scenario.WalkFiles(t, "testdata/gang/*.txt", func() scenario.Scene { return newScene() })
}

// scene is a queue.
type scene struct {
	*queue.GangQueue
	now    time.Time
	due    []func()
	pods   map[string]*sched.Pod // as they came, or as they were taken, by name
	answer strings.Builder
}

func newScene() *scene {
	s := &scene{now: time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC), pods: map[string]*sched.Pod{}}
	now := func() time.Time { return s.now }
	s.GangQueue = queue.NewGangQueue(queue.New(queue.Env{
		Now: now, After: func(_ time.Duration, f func()) { s.due = append(s.due, f) }, Gains: func() uint64 { return 0 },
	}, queue.Options{Strict: true}))
	return s
}

// Run obeys one command. A second passes before it.
func (s *scene) Run(command []string) string {
	s.answer.Reset()
	s.later(time.Second)
	name := strings.Join(command[1:min(2, len(command))], "")
	switch command[0] {
	case "add":
		s.add(command[1:])
	case "next":
		s.next()
	case "permit":
		fmt.Fprintln(&s.answer, s.Permit(s.pods[name]))
	case "blocked":
		s.Park(s.pods[name], 0)
	case "placed":
		s.Placed(s.pods[name])
	case "lost":
		s.Requeue(s.pods[name])
	case "bound":
		s.Bound(name, strings.Join(command[2:], ""))
	case "gone":
		s.Remove(name)
	case "done":
		s.Succeeded(name, command[2], command[3])
	case "forgotten":
		s.Forgotten(name)
	case "free":
		s.Wake(func(*sched.Pod) bool { return true })
	case "show":
		s.show()
	default:
		return "no such command\n"
	}
	return s.answer.String()
}

func (s *scene) later(d time.Duration) {
	s.now = s.now.Add(d)
	due := s.due
	s.due = nil
	for _, f := range due {
		f()
	}
}

func (s *scene) add(args []string) {
	pod := &sched.Pod{UID: args[0], Name: args[0]}
	if len(args) > 1 {
		need, err := strconv.Atoi(args[2])
		if err != nil {
			panic(err)
		}
		pod.Gang = &sched.Gang{ID: args[1], Need: need, Owner: strings.Join(args[3:], "")}
	}
	s.pods[pod.Name] = pod
	s.Add(queue.Entry{Pod: pod, Created: s.now, Type: fairshare.CPU, Tenant: "ann"})
}

func (s *scene) next() {
	pod := s.Poll()
	if pod == nil {
		fmt.Fprintln(&s.answer, "nobody")
		return
	}
	s.pods[pod.Name] = pod
	if pod.Gang == nil {
		fmt.Fprintln(&s.answer, pod)
		return
	}
	fmt.Fprintf(&s.answer, "%s: %d of %v\n", pod, pod.Gang.Need, pod.Gang.Members)
}

func (s *scene) show() {
	for _, e := range s.List() {
		if one, ok := s.Explain(e.UID); !ok || one.Reason() != e.Reason() {
			fmt.Fprintf(&s.answer, "but alone it is said %q, %v of ", one.Reason(), ok)
		}
		fmt.Fprintf(&s.answer, "%s (%d): %s\n", e.Name, e.Place, e.Reason())
	}
}
