package reservation_test

import (
	"fmt"
	"maps"
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

// TestScenarios runs the scripts in testdata/*.txt. Their commands are:
//
//	node node1 8 [T4]      adds a node with 8 GPUs, of the type T4 if it is given
//	remove node1           removes node1 and its pods
//	run a node1 2 [1h]     runs pod a on 2 GPUs of node1; it ends after 1 hour, if that is given
//	end a                  ends pod a, and has the queue retry pods that fit now
//	wait big 8 [prio=1] [type=T4|V100]
//	                       adds pod big, which requests 8 GPUs, and does the same as "try"
//	again big              adds pod big anew, as after a change of its tenant's quota, and does not try it
//	held                   prints what each reservation keeps from other pods
//	gang train 3 4 [apart] adds gang train of 3 pods with 4 GPUs each, and does the same as try;
//	                       with apart, the pods must be on different nodes
//	try                    tries each active pod once, in order: it is placed or unschedulable
//	fails big              makes the next Binding of pod big fail
//	slow big               makes the next Binding of pod big last until "bound big"
//	bound big              ends the slow Binding of pod big
//	gone big               deletes pod big
//	tend 30s               advances the clock, and calls Tend
//	after 30s              does the same as tend and then try
//	looked                 prints the number of calls of Options.Fits since the last "looked"
//	show                   prints nodes, reservations, and pending pods
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, out *scenario.Answer) scenario.Commands {
		s := newScene(t)
		s.answer = out
		return s.commands()
	})
}

// scene is a cluster of GPUs with a queue and reservations.
type scene struct {
	state        *nodestate.State
	queue        *queue.Queue
	reservations *reservation.Reservations
	now          time.Time
	due          []func()
	ends         map[string]time.Time
	pods         map[string]*sched.Pod
	created      map[string]time.Time
	fails, slow  map[string]bool
	searches     int
	held         map[string][]fairshare.Charge // by pod
	answer       *scenario.Answer
}

func newScene(t *testing.T) *scene {
	s := &scene{now: time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC), ends: map[string]time.Time{}, pods: map[string]*sched.Pod{}, created: map[string]time.Time{}, fails: map[string]bool{}, slow: map[string]bool{}, held: map[string][]fairshare.Charge{}}
	s.state = nodestatetest.New(t, "gpus", filter.Profile{})
	s.queue = queue.New(queue.Env{
		Now: func() time.Time { return s.now }, After: func(_ time.Duration, f func()) { s.due = append(s.due, f) }, FreedSeq: s.state.FreedSeq,
	}, queue.Options{Strict: true})
	s.reservations = reservation.New(s.state, s.queue, reservation.Options{Ends: func(uid string) time.Time { return s.ends[uid] }, Fits: s.search,
		Held: func(pod *sched.Pod, charges []fairshare.Charge) { s.held[pod.UID] = charges }})
	return s
}

// search is what the scene sets as Options.Fits of its Reservations. It counts its calls, and
// returns the result of the method `apart`.
func (s *scene) search(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool {
	s.searches++
	return s.apart(pod, planned)
}

// The method `apart` returns a function that reports whether a node suits a pod of a gang. The
// parameter `planned` has the pods of the gang that already have a node. If pod.Across is set, a
// node on which one of these pods is planned does not suit the pod.
func (s *scene) apart(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool {
	return func(node *sched.Node) bool {
		return !pod.Across || !slices.ContainsFunc(planned, func(decision sched.Decision) bool { return decision.At.Node == node.Name })
	}
}

// commands returns a function for each command, by the command's name.
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"node": s.node, "run": s.run, "end": s.end, "wait": s.wait, "gang": s.gang, "gone": s.gone, "looked": s.looked, "after": s.after, "tend": s.tend, "show": s.show, "held": s.charged,
		"try":   func(*scenario.Command) { s.try() },
		"fails": func(c *scenario.Command) { s.fails[c.Arg(0)] = true },
		"again": func(c *scenario.Command) {
			pod := *s.pods[c.Arg(0)]
			s.queue.Add(queue.Entry{Pod: &pod, Type: fairshare.AnyGPU, Tenant: "ann", Created: s.created[c.Arg(0)]})
		},
		"remove": func(c *scenario.Command) {
			for _, a := range s.state.Assignments(c.Arg(0)) {
				s.state.Release(a.UID)
			}
			s.state.RemoveNode(c.Arg(0))
		},
		"slow":  func(c *scenario.Command) { s.slow[c.Arg(0)] = true },
		"bound": func(c *scenario.Command) { s.queue.Remove(c.Arg(0)) },
	}
}

func (s *scene) node(c *scenario.Command) {
	n := &sched.Node{Name: c.Arg(0), Allocatable: sched.Amounts{Pods: 110}}
	for i := range c.Int(1) {
		n.GPUs = append(n.GPUs, sched.GPU{ID: strconv.Itoa(i), Type: c.Opt(2), Free: sched.WholeGPU})
	}
	s.state.SetNode(n)
}

func (s *scene) run(c *scenario.Command) {
	node := s.state.Record(c.Arg(1))
	pod := s.pod(c.Arg(0), c.Int(2))
	at, why := filter.Place(pod, node)
	if why.Refuses() || !s.state.Place(pod, node, at, s.state.NarrowSeq()) {
		c.Line("refused: %s", why)
	}
	if c.Opt(3) != "" {
		s.ends[pod.UID] = s.now.Add(c.Duration(3))
	}
}

func (s *scene) end(c *scenario.Command) {
	s.state.Release(c.Arg(0))
	for node := range s.state.View().Nodes() {
		s.queue.Freed(node)
	}
}

func (s *scene) wait(c *scenario.Command) {
	e := queue.Entry{Pod: s.pod(c.Arg(0), c.Int(1)), Created: s.now, Type: fairshare.AnyGPU, Tenant: "ann"}
	if t := c.Value("type"); t != "" {
		e.Type, e.Pod.GPUs.Types = fairshare.Type(t), strings.Split(t, "|")
	}
	e.Priority = int32(c.IntValue("prio", 0))
	s.created[e.Pod.UID] = e.Created
	s.queue.Add(e)
	s.try()
}

func (s *scene) gang(c *scenario.Command) {
	rep := s.pod(c.Arg(0), c.Int(2))
	rep.Across = c.Has("apart")
	rep.Gang = &sched.Gang{ID: c.Arg(0), Need: c.Int(1)}
	for i := range rep.Gang.Need {
		member := *rep
		member.UID = fmt.Sprint(c.Arg(0), "-", i)
		rep.Gang.Members = append(rep.Gang.Members, &member)
	}
	s.queue.Add(queue.Entry{Pod: rep, Created: s.now, Type: fairshare.AnyGPU, Tenant: "ann"})
	s.try()
}

// try runs the script command `try`, which tries once to place each active pod of the queue (each
// pod that the queue offers for a scheduling attempt now).
func (s *scene) try() {
	for pod := s.queue.Poll(); pod != nil; pod = s.queue.Poll() {
		members, _ := pod.Together()
		nodes := s.place(members)
		if nodes == nil {
			s.queue.MarkUnschedulable(pod, s.state.FreedSeq())
			continue
		}
		s.state.Unreserve(pod.Claim())
		s.queue.Placed(pod)
		if s.slow[pod.UID] {
			s.answer.Line("%s is being bound to %s", pod, strings.Join(nodes, ", "))
			continue
		}
		if s.fails[pod.UID] {
			delete(s.fails, pod.UID)
			s.state.Release(pod.UID)
			s.queue.Undone(pod)
			s.answer.Line("%s cannot be bound to %s", pod, strings.Join(nodes, ", "))
			continue
		}
		s.queue.Remove(pod.UID)
		s.answer.Line("%s goes to %s", pod, strings.Join(nodes, ", "))
	}
}

// place places all the pods and returns the names of their nodes. If one of them does not fit,
// place places none and returns nil.
func (s *scene) place(pods []*sched.Pod) (nodes []string) {
	var placed []sched.Decision
	for i, pod := range pods {
		node := s.suits(pod, placed)
		if node == nil {
			for j := range i {
				s.state.Release(pods[j].UID)
			}
			return nil
		}
		at, _ := filter.Place(pod, node)
		s.state.Place(pod, node, at, s.state.NarrowSeq())
		placed = append(placed, sched.Decision{Pod: pod, At: at})
		nodes = append(nodes, node.Name)
	}
	return nodes
}

// suits returns the first node that fits a pod of a gang, or nil if there is none. The parameter
// `placed` has the pods of the gang that already have a node.
func (s *scene) suits(pod *sched.Pod, placed []sched.Decision) *sched.Node {
	keeps := s.apart(pod, placed)
	for n := range s.state.View().Nodes() {
		if keeps(n) && !filter.Check(pod, n).Refuses() {
			return n
		}
	}
	return nil
}

func (s *scene) gone(c *scenario.Command) {
	s.queue.Remove(c.Arg(0))
	s.state.Release(c.Arg(0))
}

func (s *scene) tend(c *scenario.Command) {
	s.now = s.now.Add(c.Duration(0))
	s.reservations.Tend(s.now)
}

func (s *scene) after(c *scenario.Command) {
	s.tend(c)
	due := s.due
	s.due = nil
	for _, f := range due {
		f()
	}
	s.try()
}

func (s *scene) charged(c *scenario.Command) {
	for _, uid := range slices.Sorted(maps.Keys(s.held)) {
		for _, charge := range s.held[uid] {
			c.Line("%s keeps %d of %s", uid, charge.Amount/1000, charge.Type)
		}
	}
}

func (s *scene) looked(c *scenario.Command) {
	c.Line("%d", s.searches)
	s.searches = 0
}

func (s *scene) show(c *scenario.Command) {
	for n := range s.state.View().Nodes() {
		free := 0
		for _, gpu := range n.GPUs {
			free += int(gpu.Free / sched.WholeGPU)
		}
		fmt.Fprintf(c, "%s has %d of %d free", n.Name, free, len(n.GPUs))
		if r := n.Reserved; r != nil {
			fmt.Fprintf(c, ", holds %d back for %s%s", len(r.GPUs), r.UID, until(n.Name, s.reservations.Reservation(r.UID)))
		}
		c.Line("")
	}
	list := s.queue.List()
	slices.SortFunc(list, func(a, b queue.Explanation) int { return a.Position - b.Position })
	for _, e := range list {
		c.Line("%d. %s is %s", e.Position, e.Name, e.State)
	}
}

// The function `until` returns text about a node with a reservation. The text says when the pod
// that has the reservation will fit the node.
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

func (s *scene) pod(name string, gpus int) *sched.Pod {
	pod := &sched.Pod{UID: name, Name: name, Requests: sched.Amounts{Pods: 1}, GPUs: sched.GPURequest{Count: gpus, Milli: sched.WholeGPU}}
	s.pods[name] = pod
	return pod
}
