package virtual

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/queue"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// Turns is in what order pods take turns.
type Turns uint8

// Orders in which pods may take turns.
const (
	ByScore  Turns = iota // the controller's: by score per weight
	ByAge                 // the controller's queue, but for scores: by creation time
	LikeKube              // as with kube-scheduler (kubeLine)
)

// String returns "score", "creation time" or "kube-scheduler".
func (t Turns) String() string { return [...]string{"score", "creation time", "kube-scheduler"}[t] }

// line is the pending pods, as queue.Queue has them.
type line interface {
	Add(queue.Entry)
	Poll() *sched.Pod
	Permit(*sched.Pod) bool
	Placed(*sched.Pod)
	MarkUnschedulable(*sched.Pod, uint64)
	Remove(uid string)
	Rescore(tenant string)
	RescoreAll()
	Freed(*sched.Node) // a node may suit more pods than before
}

func (v *Cluster) newLine() line {
	if v.rules.Turns == LikeKube {
		return &kubeLine{now: v.Now, newest: v.center.Record}
	}
	env := queue.Env{Now: v.Now, FreedSeq: v.center.FreedSeq, After: func(d time.Duration, f func()) { v.clock.after(d, f) }}
	if v.rules.Turns == ByScore {
		env.Rank = func(tenant string, t fairshare.Type) float64 { return v.book.Rank(tenant, t, v.Now()) }
	}
	q := queue.New(env, queue.Options{Strict: true})
	var o reservation.Options
	if v.rules.EndsKnown {
		o.Ends = v.ends
	}
	v.keeper = reservation.New(v.center, q, o)
	return strict{q}
}

// strict is the controller's queue.
type strict struct{ *queue.Queue }

// Freed tries those again whom the node suits now.
func (s strict) Freed(node *sched.Node) {
	s.Reactivate(func(pod *sched.Pod) bool { return filter.FitsAny(pod, node) })
}
