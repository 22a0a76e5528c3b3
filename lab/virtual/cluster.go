package virtual

import (
	"iter"
	"maps"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
	"github.com/numalet/numalet/pkg/sched/queue"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// Work is a pod that runs for a time, and then ends.
type Work struct {
	Pod    *sched.Pod
	Tenant string
	Takes  time.Duration
}

// Ran is work that was submitted, with its times and its placement. The fields Started and At are
// zero while the work waits.
type Ran struct {
	Work
	Type             fairshare.Type
	Created, Started time.Time
	At               sched.Placement
}

// Waited returns how long the work waited until it was placed. It is valid only for work that was
// placed.
func (r Ran) Waited() time.Duration { return r.Started.Sub(r.Created) }

// Rules configure a cluster.
type Rules struct {
	Turns     Turns
	Decay     fairshare.Decay
	EndsKnown bool      // whether the controller's package reservation, which keeps nodes free for pods that have waited long, knows when running work will end
	Started   func(Ran) // called when work starts; may be nil
	Ended     func(Ran) // called when work ends; may be nil
}

// Cluster simulates nodes on which work arrives, waits, runs and ends, on a virtual clock. The
// proposer (which looks for nodes for a pod), the committer (which assigns one of them) and the
// scores are those of the controller. The queue and the reservations are also those of the
// controller, unless Rules.Turns is LikeKube. Then the queue is a model of kube-scheduler's queue,
// and there are no reservations. A decision takes no virtual time.
type Cluster struct {
	state        *nodestate.State
	rules        Rules
	clock        clock
	queue        podQueue
	reservations *reservation.Reservations // nil if pods get no reservations
	book         *fairshare.Book
	proposer     *pipeline.Proposer
	committer    *pipeline.Committer
	pending      map[string]Ran // by UID
	running      map[string]Ran
	tending      bool // whether a call of the method `tend`, which reserves and releases nodes, is due within a second
}

// NewCluster returns an idle cluster with the nodes of the argument `state`.
func NewCluster(state *nodestate.State, r Rules) *Cluster {
	v := &Cluster{state: state, rules: r, book: fairshare.New(r.Decay), pending: map[string]Ran{}, running: map[string]Ran{}}
	v.queue = v.newQueue()
	v.proposer = pipeline.NewProposer(state.View, pipeline.ProposerOptions{})
	v.committer = pipeline.NewCommitter(state, nil, pipeline.Effects{
		Bind: v.begin, Requeue: func(pod *sched.Pod, _ sched.Reason) { v.queue.MarkUnschedulable(pod, 0) }, MarkUnschedulable: v.queue.MarkUnschedulable,
	})
	v.Every(time.Minute, v.queue.RescoreAll)
	return v
}

// Now returns the virtual time. The clock of a new cluster starts at the beginning of the year
// 2000.
func (v *Cluster) Now() time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(v.clock.now)
}

// Book returns the accounts of the tenants, with their scores and usage.
func (v *Cluster) Book() *fairshare.Book { return v.book }

// Submit adds work at the current virtual time. If it is called during Run, the scheduler tries
// the work after all events of the current time. Otherwise it tries the work at the start of the
// next Run.
func (v *Cluster) Submit(w Work) {
	ran := Ran{Work: w, Type: fairshare.Type(w.Pod.ResourceType()), Created: v.Now()}
	v.pending[w.Pod.UID] = ran
	v.queue.Add(queue.Entry{Pod: w.Pod, Created: ran.Created, Type: ran.Type, Tenant: w.Tenant})
}

// Pending yields the pods that were submitted and have no node yet, in no particular order.
func (v *Cluster) Pending() iter.Seq[Ran] { return maps.Values(v.pending) }

// Waits reports whether a pod was submitted and has no node yet.
func (v *Cluster) Waits(uid string) bool {
	_, ok := v.pending[uid]
	return ok
}

// Reservation returns a pod's reservation, and false if it has none. A reservation is on one node,
// because this cluster has no gangs (groups of pods that start together).
func (v *Cluster) Reservation(uid string) (reservation.Offer, bool) {
	if v.reservations == nil {
		return reservation.Offer{}, false
	}
	if offers := v.reservations.Reservation(uid); len(offers) > 0 {
		return offers[0], true
	}
	return reservation.Offer{}, false
}

// Fits returns when a pod will fit a node: at that time, enough of the work that runs there will
// have ended. It returns the zero time if the pod fits now or will never fit, or if the node is
// reserved for another pod.
func (v *Cluster) Fits(pod *sched.Pod, node string) time.Time {
	offer, _ := reservation.On(pod, v.state.Record(node), reservation.AssignedPods(v.state, node, v.ends))
	return offer.Ready
}

// Every calls the function given as `do` at intervals of the duration d. The first call is after d.
func (v *Cluster) Every(d time.Duration, do func()) {
	v.clock.after(d, func() {
		do()
		v.Every(d, do)
	})
}

// After calls the function given as `do` once, after the duration d.
func (v *Cluster) After(d time.Duration, do func()) { v.clock.after(d, do) }

// Run advances the clock by d. Pods are scheduled at the start and after each event. If several
// events have the same time, pods are scheduled after the last of them.
func (v *Cluster) Run(d time.Duration) {
	until := v.clock.now + d
	v.schedule()
	for v.clock.next() <= until {
		for at := v.clock.next(); v.clock.next() == at; {
			v.clock.step()
		}
		v.schedule()
	}
	v.clock.now = until
}

// schedule schedules pods until the queue has no more pods that can be tried now.
func (v *Cluster) schedule() {
	for pod := v.queue.Poll(); pod != nil; pod = v.queue.Poll() {
		list := v.proposer.Propose(pod)
		if ok, _ := v.queue.Permit(pod); ok {
			v.committer.Commit(list) // Commit removes the pod from the queue or returns it there
		}
	}
	if v.reservations != nil && !v.tending && len(v.pending) > 0 {
		v.tending = true
		v.clock.after(time.Second, v.tend)
	}
}

func (v *Cluster) tend() {
	v.tending = false
	v.reservations.Tend(v.Now())
}

// begin starts work that the committer has placed.
func (v *Cluster) begin(decision sched.Decision) {
	ran := v.pending[decision.Pod.UID]
	ran.Started, ran.At = v.Now(), decision.At
	delete(v.pending, decision.Pod.UID)
	v.running[decision.Pod.UID] = ran
	v.queue.Remove(decision.Pod.UID)
	charges := fairshare.Charges(sched.Hold(decision.Pod, decision.At), v.state.Record(decision.At.Node))
	v.book.Start(fairshare.Task{UID: decision.Pod.UID, Tenant: ran.Tenant, Since: ran.Started, Holds: charges}, ran.Started)
	v.queue.Rescore(ran.Tenant)
	v.clock.after(ran.Takes, func() { v.end(ran) })
	if v.rules.Started != nil {
		v.rules.Started(ran)
	}
}

// end ends work, and lets the queue retry the pods that may fit now.
func (v *Cluster) end(r Ran) {
	delete(v.running, r.Pod.UID)
	v.state.Release(r.Pod.UID)
	v.book.Forget(r.Pod.UID, v.Now())
	v.queue.Rescore(r.Tenant)
	v.queue.Freed(v.state.Record(r.At.Node))
	if v.rules.Ended != nil {
		v.rules.Ended(r)
	}
}

// ends returns when running work will end, or the zero time if the work does not run.
func (v *Cluster) ends(uid string) time.Time {
	r, ok := v.running[uid]
	if !ok {
		return time.Time{}
	}
	return r.Started.Add(r.Takes)
}
