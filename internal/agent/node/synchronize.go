package node

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Synchronize is called when the agent has connected to the container runtime. A runtime without
// NRI does not call the agent. In this case, package direct watches the cgroups and pods of the
// node, and calls Synchronize after each change. Synchronize replaces the known sandboxes and
// containers with the given ones, and then makes the ledger of exclusive CPUs and the cgroups agree
// with them. The list of containers leaves out exited containers. So a container that is not in the
// list keeps its exclusive CPUs until its pod has ended, for example while the pod is in
// CrashLoopBackOff. Only a static pod without processes loses its CPUs as soon as it has no sandbox
// in the list.
//
// Synchronize continues after ctx has ended. On a busy machine, the timeout of the runtime may
// expire, but running containers must get their CPUs anyway.
func (n *Node) Synchronize(ctx context.Context, sandboxes []workload.Sandbox, containers []workload.Container) {
	ctx = context.WithoutCancel(ctx)
	defer n.lockInBackground()()
	before := n.mu.pods
	n.mu.pods = map[string]*pod{}
	for _, s := range sandboxes {
		n.addSandbox(s)
	}
	for _, c := range containers {
		n.addContainer(c)
	}
	for uid, p := range n.mu.pods {
		if earlier := before[uid]; earlier != nil {
			maps.Copy(p.gpus, earlier.gpus) // the list lacks containers that have ended, but their pod still holds their GPUs
		}
	}
	n.mu.synced = true
	// The runtime confirms a resize at the end of an update, and does not send its list during an
	// update. So no confirmation for a resize in n.mu.confirm or n.mu.resized will come any more. The
	// list says whether each of these resizes was applied.
	clear(n.mu.confirm)
	clear(n.mu.resized)
	n.reconcile(ctx)
}

// Reconcile makes the ledger of exclusive CPUs and the cgroups agree with the known containers
// again. It is called when the pod informer has listed the node's pods.
func (n *Node) Reconcile(ctx context.Context) {
	defer n.lockInBackground()()
	if n.mu.synced {
		n.reconcile(ctx)
	}
}

// Synced reports whether the container runtime has listed its containers.
func (n *Node) Synced() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.synced
}

// reconcile makes the ledger of exclusive CPUs and the cgroups agree with the known containers,
// in these steps:
//
//  1. release pods that have ended, static pods without a sandbox and without processes, and pods
//     that cannot have exclusive CPUs
//  2. add grants for running containers that have none in the checkpoint file, and replace the
//     unconfirmed grants of pods that the agent knows now. An unconfirmed grant was made from a
//     container's spec while the agent did not know the pod
//  3. replace CPUs that went offline
//  4. finish resizes, for example those that the container runtime applied while the agent was down
//  5. write the checkpoint
//  6. write the cpusets that limit the shared containers. If the cgroup of a QoS class limits a
//     container, set the container's own cpuset and that of its pod to all CPUs (see the method `widen`)
//  7. write the cpusets of the exclusive containers, and remove the CFS quotas of these containers and
//     of their pods
//
// After each of the steps 6 and 7, reconcile waits for systemd, so that a daemon-reload does not revert
// what it has written. But it does not wait for long (see lockInBackground).
//
// If a step fails, reconcile reports or logs the failure and continues, because the agent must
// start in any case. Callers hold n.mu.
func (n *Node) reconcile(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	n.dropGrantsInQoSCgroups()
	for _, uid := range n.uids() {
		ended, unlisted := n.hasEnded(uid), n.mu.pods[uid] == nil && n.staticOnly(uid)
		switch {
		case !ended && !unlisted:
		case n.empty(ctx, uid):
			n.forget(ctx, uid)
		case ended:
			n.wake() // Run tries again until the processes of the pod have ended
		}
	}
	clear(n.mu.awaited)
	for _, c := range n.running() {
		if err := n.adopt(c); err != nil {
			_ = n.reportRefusal(ctx, c, err, keepsRunning) // the returned error would make an operation of the container runtime fail, but no operation is in progress
		}
	}
	n.replaceOffline(ctx)
	for _, c := range n.running() {
		if err := n.followSpec(ctx, c); err != nil {
			_ = n.reportRefusal(ctx, c, err, keepsSize)
		}
	}
	if err := n.save(); err != nil {
		log.Error(err, "cannot write the checkpoint of the rebuilt grants")
	}
	if _, err := n.confineSharers(ctx, Assert); err != nil {
		log.Error(err, "some shared containers may run on exclusive CPUs; retrying; exclusive containers do not start until this is repaired")
	}
	n.tryPersist(ctx)
	n.mu.narrow = true
	n.widenSharers(ctx)
	n.liftQuotas(ctx)
	for uid := range n.mu.pods {
		n.assertPod(ctx, uid)
	}
	n.tryPersist(ctx)
	if err := n.isolate(ctx); err != nil {
		log.Error(err, "interrupts may reach isolated CPUs; retrying")
	}
}

// staticOnly reports whether the pod has grants, and all of them say that it is a static pod.
func (n *Node) staticOnly(uid string) bool {
	held := n.mu.book.of(uid)
	return len(held) > 0 && !slices.ContainsFunc(held, func(h Held) bool { return !h.Static })
}

// running returns the known containers. The containers whose spec pins them to CPUs come first,
// so that they keep their CPUs before other containers get new CPUs.
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

// adopt makes sure that a container that requests exclusive CPUs has a grant. If the container is
// already pinned and its CPUs can be granted, the grant has these CPUs. Otherwise the grant has new
// CPUs. If the agent does not know the pod yet, adopt may leave the container without a grant until
// it knows the pod (see adoptAwaited).
func (n *Node) adopt(c workload.Container) error {
	s := n.subject(c)
	if s.pod != nil {
		n.dropUnconfirmed(c)
	}
	s.runs, s.granted = true, n.mu.book.covers(c.Sandbox.Pod.UID, c.Name)
	if s.pod == nil && !s.granted && s.qosCgroup == "" && c.Resources.Pinned() && s.asks() && n.holdUnconfirmed(c) {
		return nil
	}
	switch got := classify(s); {
	case got.kind == refused:
		return got.why
	case got.kind == awaitsPod: // adoptAwaited tries again
		n.mu.awaited[c.Sandbox.Pod.UID] = true
		return nil
	case got.request == nil: // no CPUs to reserve
		return nil
	case c.Resources.Pinned() && n.grantPinned(c, *got.request):
		return nil
	default:
		_, err := n.reserve(c, *got.request)
		return err
	}
}

// adoptAwaited calls reconcile if the agent knows a pod now that it had to know before it could adopt
// the pod's containers. Such a container was created while the agent was away, and the informer got
// the pod only after the agent had connected to the container runtime again. Callers hold n.mu.
func (n *Node) adoptAwaited(ctx context.Context) {
	for uid := range n.mu.awaited {
		if n.apiPod(n.ref(uid)) != nil {
			n.reconcile(ctx)
			return
		}
	}
}

// grantPinned grants a container the CPUs to which it is pinned. It returns false if the number of
// these CPUs differs from the request, or if the ledger cannot grant them, for example because
// another grant has some of them.
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

// assertPod writes the exclusive CPUs of a pod's containers to their cgroups again.
func (n *Node) assertPod(ctx context.Context, uid string) {
	if err := n.pin(ctx, uid, ""); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "cannot write the CPUs of the exclusive containers of a pod", "pod", n.ref(uid).String())
	}
}
