package virtual

import (
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// kubeQueue is a model of kube-scheduler's queue:
//
//   - Pods that were never tried are tried in the order of their arrival. Pods that were tried
//     before are tried in the order of their last attempts. An unschedulable pod does not block
//     others, and gets no reservation.
//   - When a pod has ended on a node, the unschedulable pods that fit this node now are retried:
//     first those whose back-off is over. The back-off is 1 s, and doubles with each failed attempt
//     up to 10 s. Its end is rounded down to a second, as in kube-scheduler.
//   - Pods whose back-off is not over are retried when no other pod can be tried. So they do not
//     wait for the end of their back-off (SchedulerPopFromBackoffQ).
//
// The model leaves out priority and preemption, because all pods have the same priority. It leaves
// out the retry of pods that have been unschedulable for 5 minutes. Such a pod can fit a node only
// after another pod has ended, and the model retries the pod then anyway. It also leaves out the
// duration of a decision.
//
// Sources: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/backend/queue/scheduling_queue.go
// and backoff_queue.go; framework/plugins/queuesort/priority_sort.go and
// isSchedulableAfterPodEvent in framework/plugins/noderesources/fit.go there.
type kubeQueue struct {
	now           func() time.Time
	newest        func(node string) *sched.Node
	active        []*kubePod // in the order in which they are tried
	unschedulable []*kubePod // in the order of the last attempts to schedule them
	freed         []string   // nodes on which resources have become free since Poll last returned nil
	inFlight      *kubePod
}

type kubePod struct {
	*sched.Pod
	failed int // number of failed attempts to schedule the pod
	over   time.Time
}

// kubeWindow is the granularity of back-offs: each ends at a multiple of this duration.
const kubeWindow = time.Second

// kubeBackoff returns the back-off after a number of failed attempts to schedule a pod.
func kubeBackoff(failed int) time.Duration {
	return sched.Backoff{First: time.Second, Most: 10 * time.Second}.Delay(failed)
}

func (q *kubeQueue) Add(e queue.Entry) { q.active = append(q.active, &kubePod{Pod: e.Pod}) }

// Poll returns the next pod. Poll skips a pod that was tried before and fits none of the nodes on
// which resources have become free. It marks such a pod unschedulable again without a search for a
// node.
func (q *kubeQueue) Poll() *sched.Pod {
	for len(q.active) > 0 {
		q.inFlight, q.active = q.active[0], q.active[1:]
		if q.inFlight.failed == 0 || q.helped(q.inFlight.Pod) {
			return q.inFlight.Pod
		}
		q.MarkUnschedulable(q.inFlight.Pod, 0)
	}
	q.freed = nil
	return nil
}

func (q *kubeQueue) helped(pod *sched.Pod) bool {
	return slices.ContainsFunc(q.freed, func(node string) bool { return !filter.Check(pod, q.newest(node)).Refuses() })
}

func (q *kubeQueue) MarkUnschedulable(*sched.Pod, uint64) {
	q.inFlight.failed++
	q.inFlight.over = q.now().Add(kubeBackoff(q.inFlight.failed)).Truncate(kubeWindow)
	q.unschedulable = append(q.unschedulable, q.inFlight)
}

// Freed queues all unschedulable pods, because resources became free on a node. Poll then skips
// those that do not fit. The pods whose back-off is over come first, in the order of their last
// attempts. The others follow in the order in which their back-offs end.
func (q *kubeQueue) Freed(node *sched.Node) {
	q.freed = append(q.freed, node.Name)
	var backing []*kubePod
	for _, p := range q.unschedulable {
		if p.over.Before(q.now().Truncate(kubeWindow)) {
			q.active = append(q.active, p)
		} else {
			backing = append(backing, p)
		}
	}
	slices.SortStableFunc(backing, func(a, b *kubePod) int { return a.over.Compare(b.over) })
	q.active, q.unschedulable = append(q.active, backing...), nil
}

func (q *kubeQueue) Permit(*sched.Pod) (ok, awaited bool) { return true, false }
func (q *kubeQueue) Remove(string)                        {}
func (q *kubeQueue) Rescore(string)                       {}
func (q *kubeQueue) RescoreAll()                          {}
