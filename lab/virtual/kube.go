package virtual

import (
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// kubeLine is pending pods as kube-scheduler has them:
//
//   - who came or was tried first goes first; a pod that no node suits lets all
//     others pass, and nothing is held back for it;
//   - such a pod is tried again after something on a node has ended and its back-off
//     is over: 1 s, and twice as long each time, 10 s at most, in steps of 1 s;
//   - but before it is over when no other is to be tried (SchedulerPopFromBackoffQ).
//
// Left out: priority and preemption, for all pods here have one priority; the flush
// of who has waited for 5 minutes, for whatever ends has had it tried before that;
// and that a decision takes time.
//
// Sources: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/backend/queue/scheduling_queue.go
// and backoff_queue.go; framework/plugins/queuesort/priority_sort.go and
// isSchedulableAfterPodEvent in framework/plugins/noderesources/fit.go there.
type kubeLine struct {
	now    func() time.Time
	newest func(node string) *sched.Node
	turn   []*kubePod // to be tried, in order
	parked []*kubePod // that no node suits, in the order of the tries
	freed  []string   // nodes since all were tried
	out    *kubePod
}

type kubePod struct {
	*sched.Pod
	tries int // in vain
	over  time.Time
}

// kubeWindow is the step in which back-offs end.
const kubeWindow = time.Second

// kubeBackoff returns how long a pod backs off that was tried so often in vain.
func kubeBackoff(tries int) time.Duration {
	return sched.Backoff{First: time.Second, Most: 10 * time.Second}.Delay(tries)
}

func (l *kubeLine) Add(e queue.Entry) { l.turn = append(l.turn, &kubePod{Pod: e.Pod}) }

// Poll passes over those whom what has become free does not help: they are tried
// in vain.
func (l *kubeLine) Poll() *sched.Pod {
	for len(l.turn) > 0 {
		l.out, l.turn = l.turn[0], l.turn[1:]
		if l.out.tries == 0 || l.helped(l.out.Pod) {
			return l.out.Pod
		}
		l.MarkUnschedulable(l.out.Pod, 0)
	}
	l.freed = nil
	return nil
}

func (l *kubeLine) helped(pod *sched.Pod) bool {
	return slices.ContainsFunc(l.freed, func(node string) bool { return !filter.Check(pod, l.newest(node)).Refuses() })
}

func (l *kubeLine) MarkUnschedulable(*sched.Pod, uint64) {
	l.out.tries++
	l.out.over = l.now().Add(kubeBackoff(l.out.tries)).Truncate(kubeWindow)
	l.parked = append(l.parked, l.out)
}

// Freed has all tried again: those whose back-off is over in the order of their
// last tries, and then the others as it ends.
func (l *kubeLine) Freed(node *sched.Node) {
	l.freed = append(l.freed, node.Name)
	var backing []*kubePod
	for _, p := range l.parked {
		if p.over.Before(l.now().Truncate(kubeWindow)) {
			l.turn = append(l.turn, p)
		} else {
			backing = append(backing, p)
		}
	}
	slices.SortStableFunc(backing, func(a, b *kubePod) int { return a.over.Compare(b.over) })
	l.turn, l.parked = append(l.turn, backing...), nil
}

func (l *kubeLine) Permit(*sched.Pod) bool { return true }
func (l *kubeLine) Placed(*sched.Pod)      {}
func (l *kubeLine) Remove(string)          {}
func (l *kubeLine) Rescore(string)         {}
func (l *kubeLine) RescoreAll()            {}
