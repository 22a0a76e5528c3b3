package node

import (
	"context"
	"maps"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/cpuset"
)

// giveBackAfter is how long shared containers stay off CPUs that a pod did not get because systemd
// did not apply all changes in time. The kubelet tries again 10 to 15 s after a failure.
const giveBackAfter = 30 * time.Second

// withheld has the CPUs that shared containers may not use for some time, even if no pod holds
// them. The field `until` is the end of this time.
//
// If systemd has many units to change, one hook does not have the time to wait for all of them. The
// hook then fails, and the grant is undone. If the shared containers got the CPUs back at once, all
// units would have to change again, and no later hook would have the time either. Because the CPUs
// are withheld, the shared containers are still off these CPUs at the kubelet's next attempt, which
// usually reserves the same CPUs. The attempt then waits only for the units that systemd has not
// changed yet. Meanwhile, the agent sends requests for these units in the background
// (PersistLater).
type withheld struct {
	cpus  cpuset.Set
	until time.Time
}

// withhold keeps shared containers off the given CPUs for the time giveBackAfter. The pod with this
// UID did not get these CPUs, because systemd did not apply all changes in time. If other CPUs are
// withheld because of an earlier attempt of the pod, withhold gives these back. Callers hold n.mu.
func (n *Node) withhold(ctx context.Context, uid string, cpus cpuset.Set) {
	earlier := n.mu.withheld[uid].cpus
	if len(n.mu.withheld) == 0 { // otherwise Run already calls Sweep again and again
		n.wake()
	}
	n.mu.withheld[uid] = withheld{cpus, n.env.Now().Add(giveBackAfter)}
	if !earlier.SubsetOf(cpus) {
		n.finishRelease(ctx)
		return
	}
	n.saveRelease(ctx)
	n.isolateAfterRelease(ctx)
	n.env.Cgroups.PersistLater()
}

// allWithheld returns the CPUs that are withheld because of any pod. Callers hold n.mu.
func (n *Node) allWithheld() cpuset.Set {
	var all cpuset.Set
	for _, w := range n.mu.withheld {
		all = all.Union(w.cpus)
	}
	return all
}

// giveBack gives shared containers the CPUs that were withheld long enough. Callers hold n.mu.
func (n *Node) giveBack(ctx context.Context) {
	before, now := n.shared(), n.env.Now()
	maps.DeleteFunc(n.mu.withheld, func(_ string, w withheld) bool { return !now.Before(w.until) })
	if n.shared().Equal(before) { // none has been withheld long enough, or pods hold the CPUs now
		return
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("systemd was late, and no pod has got the CPUs since; they are shared again", "shared", n.shared().String())
	n.finishRelease(ctx)
}

// withholds reports whether any CPUs are withheld.
func (n *Node) withholds() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.mu.withheld) > 0
}
