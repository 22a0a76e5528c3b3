package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// sweepInterval is the time between two calls of Sweep while Sweep has work left: while an ended
// pod still has processes, while a resize is not complete, or while CPUs are withheld. An ended pod
// keeps its CPUs until all of its processes have ended.
const sweepInterval = time.Second

// staticSweepInterval is the time between two checks whether static pods that hold CPUs have ended.
// The agent may get no event when a static pod ends. A static pod may have no mirror pod, and a
// container runtime that has restarted may send no event (see PodEnded).
const staticSweepInterval = 10 * time.Second

// PodEnded requests a sweep, which releases the CPUs of ended pods. It is called when a pod is
// terminal or deleted, and does not block. The hooks StopPodSandbox and RemovePodSandbox of the
// container runtime are not enough, for two reasons. Usually the runtime calls StopPodSandbox
// before the pod is terminal in the API server. Moreover, after a restart, containerd 2.4 does not
// call these hooks for sandboxes from before the restart. In the file internal/nri/nri.go of
// containerd, needsStopping and needsRemoval read a map that syncPlugin fills with containers only.
func (n *Node) PodEnded(string) { n.wake() }

// wake requests a sweep, which releases the CPUs of ended pods.
func (n *Node) wake() {
	select {
	case n.ended <- struct{}{}:
	default: // a sweep is already requested
	}
}

// retryInterval is the time between two calls of the method `retry`.
const retryInterval = 10 * time.Second

// Run releases the grants of ended pods, completes resizes, gives withheld CPUs back, and calls the
// method `retry` at intervals of retryInterval, until ctx ends.
func (n *Node) Run(ctx context.Context) error {
	again := time.NewTimer(0)
	defer again.Stop()
	retry := time.NewTicker(retryInterval)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-retry.C:
			n.retry(ctx)
			continue
		case <-n.ended:
		case <-again.C:
		}
		switch left := n.Sweep(ctx); {
		case left > 0 || n.resizing() || n.withholds():
			again.Reset(sweepInterval)
		case n.holdsStatic():
			again.Reset(staticSweepInterval)
		}
	}
}

// retry repairs the partitions of containers, and adopts containers whose pod was not known before.
// It removes the CFS quotas of pods that have come back (see liftQuotas). It also writes the cpusets
// of shared containers again if an earlier write failed or was not possible yet (see confineAgain and
// widenSharers).
func (n *Node) retry(ctx context.Context) {
	n.assertPartitions(ctx)
	defer n.lockInBackground()()
	n.liftQuotas(ctx)
	n.adoptAwaited(ctx)
	if _, err := n.confineAgain(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("retrying", "after", retryInterval, "err", err.Error())
	}
	n.widenSharers(ctx)
}

// holdsStatic reports whether any static pod holds exclusive CPUs.
func (n *Node) holdsStatic() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.mu.book.sorted(), func(h Held) bool { return h.Static })
}

// Sweep releases the grants of ended pods, completes resizes, and gives withheld CPUs back. It
// returns how many ended pods it could not release, because they still have processes.
func (n *Node) Sweep(ctx context.Context) (left int) {
	defer n.lockInBackground()()
	return n.sweep(ctx)
}

// sweep does what Sweep does, for callers that hold n.mu.
func (n *Node) sweep(ctx context.Context) (left int) {
	var ended []string
	for _, uid := range n.uids() {
		switch {
		case !n.hasEnded(uid):
		case n.empty(ctx, uid):
			ended = append(ended, uid)
		default:
			left++
		}
	}
	n.release(ctx, ended...)
	n.catchUp(ctx)
	n.assertResized(ctx)
	n.finishResizes(ctx)
	n.forgetResizes()
	n.giveBack(ctx)
	return left
}

// uids returns the UIDs of all pods that have sandboxes in the container runtime, or that hold a
// grant.
func (n *Node) uids() []string {
	uids := maps.Clone(n.mu.pods)
	for _, h := range n.mu.book.held {
		uids[h.Pod.UID] = nil
	}
	return slices.Sorted(maps.Keys(uids))
}

// hasEnded reports whether a pod is terminal or deleted. If a static pod has no mirror pod in the
// API server, it has ended when its cgroups no longer exist.
func (n *Node) hasEnded(uid string) bool {
	if pod, known := n.env.Pods.Pod(n.ref(uid)); known {
		return v1alpha1.Ended(pod)
	}
	static := slices.ContainsFunc(n.mu.book.of(uid), func(h Held) bool { return h.Static })
	if static {
		return n.removed(uid)
	}
	return n.env.Pods.HasSynced()
}

// removed reports whether the kubelet has removed the cgroups of a pod.
func (n *Node) removed(uid string) bool {
	return !slices.ContainsFunc(n.cgroups(uid), func(cgroup string) bool {
		exists, err := n.env.Processes.PodExists(cgroup)
		return exists || err != nil
	})
}

// ref returns the name, namespace and UID of a pod that has a sandbox or holds a grant. For any
// other pod, it returns only the UID. Callers hold n.mu.
func (n *Node) ref(uid string) workload.Pod {
	if p := n.mu.pods[uid]; p != nil {
		return p.ref
	}
	for _, h := range n.mu.book.of(uid) {
		return h.Pod
	}
	return workload.Pod{UID: uid}
}

// empty reports whether the pod has no processes.
func (n *Node) empty(ctx context.Context, uid string) bool {
	for _, cgroup := range n.cgroups(uid) {
		empty, err := n.env.Processes.PodEmpty(cgroup)
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "cannot check whether a pod has processes; it keeps its CPUs", "cgroup", cgroup)
		}
		if err != nil || !empty {
			return false
		}
	}
	return true
}

func (n *Node) cgroups(uid string) []string {
	var out []string
	for _, h := range n.mu.book.of(uid) {
		out = append(out, h.Cgroup)
	}
	if p := n.mu.pods[uid]; p != nil {
		out = append(out, p.cgroup)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// release removes ended pods from the state of the node, and makes their CPUs shared. It writes the
// checkpoint and the cpusets of shared containers only once for all these pods, because all hooks wait
// meanwhile. Callers hold n.mu.
func (n *Node) release(ctx context.Context, uids ...string) {
	shares := false
	for _, uid := range uids {
		shares = n.forget(ctx, uid) || shares
	}
	if shares {
		n.finishRelease(ctx)
	}
}

// forget removes an ended pod from the state of the node. It reports whether CPUs become shared: the
// pod's exclusive CPUs, or CPUs that were withheld because of the pod. In this case, the caller must
// write the checkpoint and the cpusets of shared containers. Callers hold n.mu.
func (n *Node) forget(ctx context.Context, uid string) (shares bool) {
	_, withholds := n.mu.withheld[uid]
	delete(n.mu.withheld, uid)
	holds := len(n.mu.book.of(uid)) > 0
	free := n.mu.book.drop(uid)
	p := n.mu.pods[uid]
	delete(n.mu.pods, uid)
	delete(n.mu.awaited, uid)
	if p != nil && len(p.gpus) > 0 && n.env.GPUsFreed != nil {
		n.env.GPUsFreed()
	}
	if !holds && !withholds {
		return false
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("released", "uid", uid, "cpus", free.String(), "shared", n.shared().String())
	return true
}
