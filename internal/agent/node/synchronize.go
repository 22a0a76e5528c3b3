package node

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Synchronize replaces the known sandboxes and containers by the runtime's list and
// reconciles the ledger and the cgroups with it. The list leaves out exited
// containers, so it never ends a grant: a pod in CrashLoopBackOff keeps its CPUs.
//
// It continues after ctx has ended: even on a machine so busy that the runtime's
// timeout expires, running containers must get their CPUs.
func (n *Node) Synchronize(ctx context.Context, sandboxes []workload.Sandbox, containers []workload.Container) {
	ctx = context.WithoutCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.pods = map[string]*pod{}
	for _, s := range sandboxes {
		n.addSandbox(s)
	}
	for _, c := range containers {
		n.addContainer(c)
	}
	n.mu.synced = true
	clear(n.mu.confirm) // the runtime sends its list while no update is under way
	n.reconcile(ctx)
}

// Reconcile repeats the reconciliation of Synchronize once the informer has the pods.
func (n *Node) Reconcile(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.synced {
		n.reconcile(ctx)
	}
}

// Synced reports whether the runtime has listed its containers.
func (n *Node) Synced() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.synced
}

// reconcile brings the ledger and the cgroups in line with the known containers:
//
//  1. release pods that have ended
//  2. add grants of running containers that the checkpoint lacks, and confirm those whose
//     pod was unknown
//  3. replace CPUs that went offline
//  4. finish resizes that the agent has missed
//  5. write the checkpoint
//  6. shrink all shared containers, then write the exclusive ones
//
// It reports failures and continues, because the node must start. Callers hold the
// lock.
func (n *Node) reconcile(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	for _, uid := range n.uids() {
		if n.mu.pods[uid] == nil && n.staticOnly(uid) {
			n.mu.book.drop(uid)
			continue
		}
		n.releaseEnded(ctx, uid)
	}
	for _, c := range n.running() {
		if err := n.adopt(ctx, c); err != nil {
			_ = n.reportRefusal(ctx, c, err, keepsRunning) // no operation can fail
		}
	}
	n.replaceOffline(ctx)
	for _, c := range n.running() {
		if err := n.followSpec(ctx, c); err != nil {
			_ = n.reportRefusal(ctx, c, err, keepsSize)
		}
		if err := n.liftOwnQuota(ctx, c); err != nil {
			log.Error(err, "an exclusive container is throttled", "container", c.String())
		}
	}
	if err := n.save(); err != nil {
		log.Error(err, "cannot write the checkpoint of the rebuilt grants")
	}
	if _, err := n.confineSharers(ctx, Assert); err != nil {
		log.Error(err, "some shared containers may run on exclusive CPUs; new exclusive containers are refused until this is repaired")
	}
	n.assertExclusive(ctx)
	if err := n.isolate(ctx); err != nil {
		log.Error(err, "interrupts may reach isolated CPUs; retrying")
	}
}

// staticOnly reports whether the pod has grants and all of them are static.
func (n *Node) staticOnly(uid string) bool {
	held := n.mu.book.of(uid)
	return len(held) > 0 && !slices.ContainsFunc(held, func(h Held) bool { return !h.Static })
}

// running returns the known containers, first those that are already pinned: they keep
// their CPUs before others get new ones.
func (n *Node) running() []workload.Container {
	var pinned, rest []workload.Container
	for _, uid := range n.uids() {
		p := n.mu.pods[uid]
		if p == nil {
			continue
		}
		for _, c := range p.containers {
			if c.Resources.Pinned() {
				pinned = append(pinned, c)
			} else {
				rest = append(rest, c)
			}
		}
	}
	byID := func(a, b workload.Container) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(pinned, byID)
	slices.SortFunc(rest, byID)
	return append(pinned, rest...)
}

// adopt makes sure that a running container that requests exclusive CPUs has a grant:
// for the CPUs it runs on if it is pinned, else for new ones.
func (n *Node) adopt(ctx context.Context, c workload.Container) error {
	uid := c.Sandbox.Pod.UID
	_, podKnown := n.env.Pods.Pod(c.Sandbox.Pod)
	if podKnown {
		n.dropUnconfirmed(c)
	}
	if n.holds(c) || n.mu.book.whole(uid) {
		return nil
	}
	if !podKnown && c.Resources.Pinned() && n.announces(c) && n.holdUnconfirmed(c) {
		return nil
	}
	known := func(_ context.Context, p workload.Pod) (*corev1.Pod, bool) { return n.env.Pods.Pod(p) }
	want, err := n.request(ctx, c, known)
	if r := (*v1alpha1.Refusal)(nil); errors.As(err, &r) && r.Reason == PodUnknown {
		return nil // Reconcile runs again when the informer has the pods
	}
	if err != nil || want == nil {
		return err
	}
	if c.Resources.Pinned() && n.grantPinned(c, *want) {
		return nil
	}
	_, err = n.reserve(c, *want)
	return err
}

// grantPinned grants a container the CPUs that it is pinned to, and reports false if
// they differ from its request or another container holds them.
func (n *Node) grantPinned(c workload.Container, p pool.Pod) bool {
	if p.UID == c.Sandbox.Pod.UID {
		p = onlyContainer(p, c.Name)
	}
	want := p.Containers[0]
	if size, err := c.Resources.ExclusiveCPUs(); err == nil && size > 0 {
		want.CPUs = size // by a resize, which may not be in the pod's spec as the informer has it
	}
	if c.Resources.CPUs.Len() != want.CPUs {
		return false
	}
	claim := pool.Claim{Container: c.Name, Kind: want.Kind, CPUs: c.Resources.CPUs, Mems: c.Resources.Mems, MemoryBytes: want.MemoryBytes}
	s := c.Sandbox
	return n.mu.book.restore(Held{
		Pod: s.Pod, Cgroup: s.PodCgroup, Static: isStatic(s), Isolated: isolates(s),
		Grant: pool.Grant{UID: p.UID, Policy: p.Policy, Claims: []pool.Claim{claim}},
	}) == nil
}

// assertExclusive writes the CPUs of all exclusive containers.
func (n *Node) assertExclusive(ctx context.Context) {
	for _, p := range n.mu.pods {
		n.assertPod(ctx, p)
	}
}

// assertPod writes the CPUs of the exclusive containers of a pod.
func (n *Node) assertPod(ctx context.Context, p *pod) {
	for _, c := range p.containers {
		d := n.decide(c)
		if !d.Exclusive {
			continue
		}
		err := errors.Join(n.liftQuota(ctx, c.Sandbox), n.assert(ctx, c, d))
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "cannot write the CPUs of an exclusive container", "container", c.String())
		}
	}
}
