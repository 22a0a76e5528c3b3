package reservation_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// TestScenarios walks through testdata/*.txt:
//
//	node node1 8           a node with so many cards
//	run a node1 2 [1h]     pod a runs there on so many cards, for so long if that is known
//	end a                  it ends, and who is helped by that is tried again
//	wait big 8 [prio=1]    pod big comes, which asks for so many cards; no node suits it
//	gang train 3 4 [apart] gang train comes, three pods that ask for four cards each, and keep apart from each other
//	try                    who is to be tried again, in its turn: it is placed, or blocked
//	fails big              where it has its place next, it cannot be bound
//	gone big               pod big is no more
//	after 30s              time passes, and the keeper tends its reservations
//	looked                 how often the keeper has looked for a node since that was asked last
//	show                   nodes, what is held back, and who waits for what
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return newScene(t) })
}

// scene is a cluster of cards with a queue and a keeper.
type scene struct {
	center *nodestate.Center
	queue  *queue.Queue
	keeper *reservation.Keeper
	now    time.Time
	due    []func()
	ends   map[string]time.Time
	pods   map[string]*sched.Pod
	fails  map[string]bool
	looks  int
	answer strings.Builder
}

func newScene(t *testing.T) *scene {
	s := &scene{now: time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC), ends: map[string]time.Time{}, pods: map[string]*sched.Pod{}, fails: map[string]bool{}}
	s.center = nodestatetest.New(t, "gpus", nodestate.Profile{})
	s.queue = queue.New(queue.Env{
		Now: func() time.Time { return s.now }, After: func(_ time.Duration, f func()) { s.due = append(s.due, f) }, Gains: s.center.Gains,
	}, queue.Options{Strict: true})
	s.keeper = reservation.New(s.center, s.queue, reservation.Options{Ends: func(uid string) time.Time { return s.ends[uid] }, Suits: s.look})
	return s
}

// look is apart, and counts.
func (s *scene) look(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool {
	s.looks++
	return s.apart(pod, planned)
}

// apart keeps those apart that say so (Across).
func (s *scene) apart(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool {
	return func(node *sched.Node) bool {
		return !pod.Across || !slices.ContainsFunc(planned, func(d sched.Decision) bool { return d.At.Node == node.Name })
	}
}

// Run obeys one command.
func (s *scene) Run(command []string) string {
	return scenario.Obey(&s.answer, map[string]func(args []string){
		"node": s.node, "run": s.run, "end": s.end, "wait": s.wait, "gang": s.gang, "try": s.try, "gone": s.gone, "looked": s.looked,
		"fails": func(args []string) { s.fails[args[0]] = true }, "after": s.after, "show": s.show,
	}, command)
}

func (s *scene) node(args []string) {
	n := &sched.Node{Name: args[0], Allocatable: sched.Amounts{Pods: 110}}
	for i := range scenario.Number(args[1]) {
		n.GPUs = append(n.GPUs, sched.GPU{ID: strconv.Itoa(i), Free: sched.WholeGPU})
	}
	s.center.SetNode(n)
}

func (s *scene) run(args []string) {
	node := s.center.Record(args[1])
	pod := s.pod(args[0], args[2])
	at, why := filter.Place(pod, node)
	if why.Refuses() || !s.center.Place(pod, node, at) {
		fmt.Fprintln(&s.answer, "refused:", why)
	}
	if len(args) > 3 {
		s.ends[pod.UID] = s.now.Add(scenario.Duration(args[3]))
	}
}

func (s *scene) end(args []string) {
	s.center.Release(args[0])
	s.queue.Wake(func(pod *sched.Pod) bool { return s.suits(pod, nil) != nil })
}

func (s *scene) wait(args []string) {
	pod := s.pod(args[0], args[1])
	e := queue.Entry{Pod: pod, Created: s.now, Type: fairshare.AnyGPU, Tenant: "ann"}
	for _, arg := range args[2:] {
		e.Priority = int32(scenario.Number(strings.TrimPrefix(arg, "prio=")))
	}
	s.queue.Add(e)
	s.try(nil)
}

func (s *scene) gang(args []string) {
	rep := s.pod(args[0], args[2])
	rep.Across = slices.Contains(args[3:], "apart")
	rep.Gang = &sched.Gang{ID: args[0], Need: scenario.Number(args[1])}
	for i := range rep.Gang.Need {
		member := *rep
		member.UID = fmt.Sprint(args[0], "-", i)
		rep.Gang.Members = append(rep.Gang.Members, &member)
	}
	s.queue.Add(queue.Entry{Pod: rep, Created: s.now, Type: fairshare.AnyGPU, Tenant: "ann"})
	s.try(nil)
}

// try gives everybody a turn.
func (s *scene) try([]string) {
	for pod := s.queue.Poll(); pod != nil; pod = s.queue.Poll() {
		members, _ := pod.Together()
		nodes := s.place(members)
		if nodes == nil {
			s.queue.Park(pod, s.center.Gains())
			continue
		}
		s.center.Unreserve(pod.Claim())
		s.queue.Placed(pod)
		if s.fails[pod.UID] {
			delete(s.fails, pod.UID)
			s.center.Release(pod.UID)
			s.queue.Requeue(pod)
			fmt.Fprintf(&s.answer, "%s cannot be bound to %s\n", pod, strings.Join(nodes, ", "))
			continue
		}
		s.queue.Remove(pod.UID)
		fmt.Fprintf(&s.answer, "%s goes to %s\n", pod, strings.Join(nodes, ", "))
	}
}

// place places all pods or none, and returns where they are.
func (s *scene) place(pods []*sched.Pod) (nodes []string) {
	var placed []sched.Decision
	for i, pod := range pods {
		node := s.suits(pod, placed)
		if node == nil {
			for j := range i {
				s.center.Release(pods[j].UID)
			}
			return nil
		}
		at, _ := filter.Place(pod, node)
		s.center.Place(pod, node, at)
		placed = append(placed, sched.Decision{Pod: pod, At: at})
		nodes = append(nodes, node.Name)
	}
	return nodes
}

// suits returns the first node that suits a pod, beside others of its gang, or nil.
func (s *scene) suits(pod *sched.Pod, placed []sched.Decision) *sched.Node {
	keeps := s.apart(pod, placed)
	for n := range s.center.View().Nodes() {
		if keeps(n) && !filter.Check(pod, n).Refuses() {
			return n
		}
	}
	return nil
}

func (s *scene) gone(args []string) {
	s.queue.Remove(args[0])
	s.center.Release(args[0])
}

func (s *scene) after(args []string) {
	s.now = s.now.Add(scenario.Duration(args[0]))
	s.keeper.Tend(s.now)
	due := s.due
	s.due = nil
	for _, f := range due {
		f()
	}
	s.try(nil)
}

func (s *scene) looked([]string) {
	fmt.Fprintln(&s.answer, s.looks)
	s.looks = 0
}

func (s *scene) show([]string) {
	for n := range s.center.View().Nodes() {
		free := 0
		for _, card := range n.GPUs {
			free += int(card.Free / sched.WholeGPU)
		}
		fmt.Fprintf(&s.answer, "%s has %d of %d free", n.Name, free, len(n.GPUs))
		if r := n.Reserved; r != nil {
			fmt.Fprintf(&s.answer, ", holds %d back for %s%s", len(r.GPUs), r.UID, until(n.Name, s.keeper.Reservation(r.UID)))
		}
		fmt.Fprintln(&s.answer)
	}
	list := s.queue.List()
	slices.SortFunc(list, func(a, b queue.Explanation) int { return a.Place - b.Place })
	for _, e := range list {
		fmt.Fprintf(&s.answer, "%d. %s is %s\n", e.Place, e.Name, e.State)
	}
}

// until says when what is held back on a node is enough.
func until(node string, offers []reservation.Offer) (text string) {
	o := offers[slices.IndexFunc(offers, func(o reservation.Offer) bool { return o.Node == node })]
	if o.Unknown > 0 {
		text += fmt.Sprintf(", until %d end", o.Unknown)
	}
	if !o.Ready.IsZero() {
		text += ", ready at " + o.Ready.Format(time.TimeOnly)
	}
	return text
}

func (s *scene) pod(name, cards string) *sched.Pod {
	pod := &sched.Pod{UID: name, Name: name, Requests: sched.Amounts{Pods: 1}, GPUs: sched.GPUAsk{Count: scenario.Number(cards), Milli: sched.WholeGPU}}
	s.pods[name] = pod
	return pod
}
