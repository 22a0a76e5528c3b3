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

// Synchronize replaces the known sandboxes and containers by the runtime's list. It then makes the
// ledger and the cgroups agree with that list. A container that is missing in the list does not
// lose its grant, because the list leaves out exited containers: a pod in CrashLoopBackOff keeps
// its CPUs.
//
// It continues after ctx has ended, because running containers must get their CPUs even on a
// machine that is so busy that the runtime's timeout expires.
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
	clear(n.mu.confirm) // the runtime sends its list only while no update of a container is in progress
	n.reconcile(ctx)
}

// Reconcile makes the ledger and the cgroups agree with the known containers again. It is called
// when the informer has listed the pods.
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

// reconcile makes the ledger and the cgroups agree with the known containers:
//
//  1. release pods that have ended
//  2. add grants for running containers that have none in the checkpoint, and replace unconfirmed
//     grants of containers whose pod is known now
//  3. replace CPUs that went offline
//  4. finish resizes that the agent has missed
//  5. write the checkpoint
//  6. write the cpusets of all shared containers, then those of the exclusive containers
//
// It reports failures and continues, because the agent must start in any case. Callers hold the
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
			_ = n.reportRefusal(ctx, c, err, keepsRunning) // the error is for an operation of the runtime, and there is none here
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

// staticOnly reports whether the pod has grants, and all of them belong to a static pod.
func (n *Node) staticOnly(uid string) bool {
	held := n.mu.book.of(uid)
	return len(held) > 0 && !slices.ContainsFunc(held, func(h Held) bool { return !h.Static })
}

// running returns the known containers. Containers that are already pinned come first, so that they
// keep their CPUs before other containers get new CPUs.
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

// adopt makes sure that a running container that requests exclusive CPUs has a grant. A container
// that is already pinned gets a grant for the CPUs on which it runs. Any other container gets a
// grant for new CPUs.
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

// grantPinned grants a container the CPUs to which it is pinned. It returns false if their number
// differs from the request, or if another container holds them.
func (n *Node) grantPinned(c workload.Container, p pool.Pod) bool {
	if p.UID == c.Sandbox.Pod.UID {
		p = onlyContainer(p, c.Name)
	}
	want := p.Containers[0]
	if size, err := c.Resources.ExclusiveCPUs(); err == nil && size > 0 {
		want.CPUs = size // a resize may have changed the size, and the informer's pod may not have it yet
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
