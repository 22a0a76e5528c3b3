package jobplan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// stuckAfter is how long after its grace period a terminating pod is reported. A kubelet needs some
// seconds after the grace period to remove the pod.
const stuckAfter = 30 * time.Second

// reportStuck adds to the message of the job that pods do not terminate, and says what to do. A new
// pod with the same name can only be created when the old pod is gone, and a pod whose node is down
// does not go away by itself. If there are several such pods, the message has the one that should
// have ended first, and the number of the others. The parameter `before` is the message of the
// previous plan. If it has the same pod, reportStuck does not record the event again.
func (p *planner) reportStuck(before string) {
	stuck := p.stuck()
	if len(stuck) == 0 {
		return
	}
	pod := slices.MinFunc(stuck, func(a, b Pod) int { return a.Gone.Compare(b.Gone) }) // the first that was reported
	text := fmt.Sprintf("node %s has not ended pod %s, whose grace period ended at %s: if the node is down, run kubectl delete pod %s --force, or put the taint node.kubernetes.io/out-of-service on the node",
		pod.Node, pod.Name, pod.Gone.UTC().Format(time.RFC3339), pod.Name)
	if !strings.Contains(before, text) {
		p.Events = append(p.Events, Event{pod.Index, true, EventPodStuck, text})
	}
	p.Message += "; " + text
	if more := len(stuck) - 1; more > 0 {
		p.Message += fmt.Sprintf("; the same holds for %d more of the job's pods", more)
	}
}

// stuck returns the pods that have been terminating for too long and are to be created again. For
// those that have not been terminating for too long yet, it requests another call of Next. It leaves
// out pods that their node has ended: only a finalizer keeps such a pod.
func (p *planner) stuck() (stuck []Pod) {
	for _, pod := range p.pods {
		ended := pod.State != Waiting && pod.State != Running
		if !pod.Deleting || ended || pod.Node == "" || p.isExcess(pod) || p.Done.Has(pod.Index) {
			continue
		}
		left := pod.Gone.Add(stuckAfter).Sub(p.now)
		p.requeueAfter(left)
		if left <= 0 {
			stuck = append(stuck, pod)
		}
	}
	return stuck
}
