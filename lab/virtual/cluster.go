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

// Ran is work that has its place.
type Ran struct {
	Work
	Type           fairshare.Type
	Created, Began time.Time
	At             sched.Placement
}

// Waited returns how long it has waited for its place.
func (r Ran) Waited() time.Duration { return r.Began.Sub(r.Created) }

// Rules are how a cluster shares itself out.
type Rules struct {
	Turns     Turns
	Decay     fairshare.Decay
	EndsKnown bool      // to whom holds nodes back for blocked pods
	Began     func(Ran) // nil for nobody
	Ended     func(Ran)
}

// Cluster is nodes on which work comes, waits, runs and ends, on a virtual clock.
// The queue, both tiers, the scores and the reservations are those of the
// controller; a decision takes no time.
type Cluster struct {
	center    *nodestate.State
	rules     Rules
	clock     clock
	line      line
	keeper    *reservation.Reservations // nil for none
	book      *fairshare.Book
	proposer  *pipeline.Proposer
	committer *pipeline.Committer
	pending   map[string]Ran // by UID
	running   map[string]Ran
	tending   bool // the keeper will look
}

// NewCluster returns an idle cluster of the centre's nodes.
func NewCluster(c *nodestate.State, r Rules) *Cluster {
	v := &Cluster{center: c, rules: r, book: fairshare.New(r.Decay), pending: map[string]Ran{}, running: map[string]Ran{}}
	v.line = v.newLine()
	v.proposer = pipeline.NewProposer(c.View, pipeline.ProposerOptions{})
	v.committer = pipeline.NewCommitter(c, nil, pipeline.Effects{
		Bind: v.begin, Requeue: func(p *sched.Pod) { v.line.MarkUnschedulable(p, 0) }, MarkUnschedulable: v.line.MarkUnschedulable,
	})
	v.Every(time.Minute, v.line.RescoreAll)
	return v
}

// Now returns the time, from the year 2000 on.
func (v *Cluster) Now() time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(v.clock.now)
}

// Book returns what tenants have used.
func (v *Cluster) Book() *fairshare.Book { return v.book }

// Submit makes work come now. Its turn comes with the next event, or with Run.
func (v *Cluster) Submit(w Work) {
	ran := Ran{Work: w, Type: fairshare.TypeOf(w.Pod), Created: v.Now()}
	v.pending[w.Pod.UID] = ran
	v.line.Add(queue.Entry{Pod: w.Pod, Created: ran.Created, Type: ran.Type, Tenant: w.Tenant})
}

// Pending returns the work that waits, in no order.
func (v *Cluster) Pending() iter.Seq[Ran] { return maps.Values(v.pending) }

// Waits reports whether work waits.
func (v *Cluster) Waits(uid string) bool {
	_, ok := v.pending[uid]
	return ok
}

// Reservation returns what is held back for a pod, or nothing. A cluster of Work has
// no gangs, so that it is on one node.
func (v *Cluster) Reservation(uid string) (reservation.Offer, bool) {
	if v.keeper == nil {
		return reservation.Offer{}, false
	}
	if offers := v.keeper.Reservation(uid); len(offers) > 0 {
		return offers[0], true
	}
	return reservation.Offer{}, false
}

// Fits returns when enough of what runs on a node now will have ended for a pod to
// fit there, zero if never.
func (v *Cluster) Fits(pod *sched.Pod, node string) time.Time {
	offer, _ := reservation.On(pod, v.center.Record(node), reservation.AssignedPods(v.center, node, v.ends))
	return offer.Ready
}

// Every does something now and then, first after that time.
func (v *Cluster) Every(d time.Duration, do func()) {
	v.clock.after(d, func() {
		do()
		v.Every(d, do)
	})
}

// After does something once.
func (v *Cluster) After(d time.Duration, do func()) { v.clock.after(d, do) }

// Run lets a time pass. Of several things that happen at one time all have happened
// before anybody's turn comes.
func (v *Cluster) Run(d time.Duration) {
	until := v.clock.now + d
	v.give()
	for v.clock.next() <= until {
		for at := v.clock.next(); v.clock.next() == at; {
			v.clock.step()
		}
		v.give()
	}
	v.clock.now = until
}

// give gives nodes to those whose turn it is, until it is nobody's.
func (v *Cluster) give() {
	for pod := v.line.Poll(); pod != nil; pod = v.line.Poll() {
		if list := v.proposer.Propose(pod); v.line.Permit(pod) {
			v.committer.Commit(list)
		}
	}
	if v.keeper != nil && !v.tending && len(v.pending) > 0 {
		v.tending = true
		v.clock.after(time.Second, v.tend)
	}
}

func (v *Cluster) tend() {
	v.tending = false
	v.keeper.Tend(v.Now())
}

// begin starts work that has its place.
func (v *Cluster) begin(d sched.Decision) {
	ran := v.pending[d.Pod.UID]
	ran.Began, ran.At = v.Now(), d.At
	delete(v.pending, d.Pod.UID)
	v.running[d.Pod.UID] = ran
	v.line.Placed(d.Pod)
	v.line.Remove(d.Pod.UID)
	charges := fairshare.Charges(sched.Hold(d.Pod, d.At), v.center.Record(d.At.Node))
	v.book.Start(fairshare.Task{UID: d.Pod.UID, Tenant: ran.Tenant, Since: ran.Began, Holds: charges}, ran.Began)
	v.line.Rescore(ran.Tenant)
	v.clock.after(ran.Takes, func() { v.end(ran) })
	if v.rules.Began != nil {
		v.rules.Began(ran)
	}
}

// end ends work, and lets those try whom that helps.
func (v *Cluster) end(r Ran) {
	delete(v.running, r.Pod.UID)
	v.center.Release(r.Pod.UID)
	v.book.Forget(r.Pod.UID, v.Now())
	v.line.Rescore(r.Tenant)
	v.line.Freed(v.center.Record(r.At.Node))
	if v.rules.Ended != nil {
		v.rules.Ended(r)
	}
}

// ends returns when running work will end.
func (v *Cluster) ends(uid string) time.Time {
	r, ok := v.running[uid]
	if !ok {
		return time.Time{}
	}
	return r.Began.Add(r.Takes)
}
