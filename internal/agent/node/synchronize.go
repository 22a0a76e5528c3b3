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

// Synchronize takes the runtime's list of what exists, which is all of what is
// known of containers from now on, and brings ledger and cgroups in line with
// it. The list leaves out exited containers, so holdings never end by it: a pod
// in CrashLoopBackOff keeps its own.
//
// It goes on when ctx ends: on a machine so busy that the runtime gives up
// waiting, what runs has to be where it belongs all the same.
func (n *Node) Synchronize(ctx context.Context, sandboxes []workload.Sandbox, containers []workload.Container) {
	ctx = context.WithoutCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.pods = map[string]*pod{}
	for _, s := range sandboxes {
		n.see(s)
	}
	for _, c := range containers {
		n.remember(c)
	}
	n.mu.synced = true
	n.settle(ctx)
}

// Settle does what Synchronize could not before the informer knew the pods.
func (n *Node) Settle(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.synced {
		n.settle(ctx)
	}
}

// Synced reports whether the runtime has listed its containers.
func (n *Node) Synced() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.synced
}

// settle makes everything as it should be, whoever was away meanwhile:
//
//  1. release pods that ended
//  2. take back what running containers hold and the checkpoint does not know
//  3. make that durable
//  4. shrink everybody who shares, then assert what is exclusive
//
// What cannot be done is told and left: the node must come up. Callers hold the lock.
func (n *Node) settle(ctx context.Context) {
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
			_ = n.tell(ctx, c, err) // it runs on shared CPUs; there is nothing to fail
		}
	}
	if err := n.save(); err != nil {
		log.Error(err, "the rebuilt state is not remembered")
	}
	if _, err := n.confineSharers(ctx, Assert); err != nil {
		log.Error(err, "some containers may run on exclusive CPUs; new exclusive containers are refused until this is repaired")
	}
	n.assertExclusive(ctx)
}

// staticOnly reports whether all that the pod holds is held as a static pod.
func (n *Node) staticOnly(uid string) bool {
	held := n.mu.book.of(uid)
	return len(held) > 0 && !slices.ContainsFunc(held, func(h Held) bool { return !h.Static })
}

// running returns the known containers, those first that were pinned before:
// what they are on is theirs, before anything is given anew.
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

// adopt makes sure that a running container which asks for exclusive CPUs
// holds some: those it runs on if it was pinned, else new ones.
func (n *Node) adopt(ctx context.Context, c workload.Container) error {
	uid := c.Sandbox.Pod.UID
	if _, holds := n.mu.book.claim(uid, c.Name); holds || n.mu.book.whole(uid) {
		return nil
	}
	known := func(_ context.Context, uid string) (*corev1.Pod, bool) { return n.env.Pods.Pod(uid) }
	want, err := n.wants(ctx, c, known)
	if r := (*v1alpha1.Refusal)(nil); errors.As(err, &r) && r.Reason == PodUnknown {
		return nil // Settle comes again when the informer knows
	}
	if err != nil || want == nil {
		return err
	}
	if c.Resources.Pinned() && n.takeBack(c, *want) {
		return nil
	}
	_, err = n.reserve(c, *want)
	return err
}

// takeBack grants a container the CPUs that it runs on, and reports whether
// they are what it wants and nobody else's.
func (n *Node) takeBack(c workload.Container, p pool.Pod) bool {
	if p.UID == c.Sandbox.Pod.UID {
		p = onlyContainer(p, c.Name)
	}
	want := p.Containers[0]
	if c.Resources.CPUs.Len() != want.CPUs {
		return false
	}
	claim := pool.Claim{Container: c.Name, Kind: want.Kind, CPUs: c.Resources.CPUs, Mems: c.Resources.Mems, MemoryBytes: want.MemoryBytes}
	s := c.Sandbox
	return n.mu.book.restore(Held{
		Pod: s.Pod, Cgroup: s.PodCgroup, Static: isStatic(s),
		Grant: pool.Grant{UID: p.UID, Policy: p.Policy, Claims: []pool.Claim{claim}},
	}) == nil
}

// assertExclusive writes where exclusive containers belong.
func (n *Node) assertExclusive(ctx context.Context) {
	for _, p := range n.mu.pods {
		for _, c := range p.containers {
			d := n.decide(c)
			if !d.Exclusive {
				continue
			}
			err := errors.Join(n.liftQuota(ctx, c.Sandbox), n.assert(ctx, c, d))
			if err != nil {
				logr.FromContextOrDiscard(ctx).Error(err, "an exclusive container is not where it belongs", "container", c.String())
			}
		}
	}
}
