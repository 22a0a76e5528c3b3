package node

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// Create returns the CPUs of a container that the container runtime is about to create. Before it
// returns exclusive CPUs, it writes them to the checkpoint file and moves all shared containers off
// them. If Create returns an error, the runtime does not create the container, and the kubelet
// tries again, unless the agent has set the pod to Failed.
func (n *Node) Create(ctx context.Context, c workload.Container) (workload.Answer, error) {
	gpus, err := n.visibleGPUs(c)
	if err != nil {
		return workload.Answer{}, n.reportRefusal(ctx, c, err, retried)
	}
	n.warnOfHidden(c, gpus)
	a, err := n.create(ctx, c)
	switch {
	case a.Exclusive:
	case n.env.Cgroups.Limits(n.qosCgroup(c.Sandbox), a.CPUs):
		a.CPUs = cpuset.Set{}
	default:
		a.CPUs = n.unstarted(a.CPUs)
	}
	a.GPUs = gpus
	return a, n.reportRefusal(ctx, c, err, retried)
}

func (n *Node) create(ctx context.Context, c workload.Container) (workload.Answer, error) {
	a, err := n.reserveAndDecide(ctx, c)
	if err != nil || !a.Exclusive {
		return a, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return a, n.liftQuotaForGood(ctx, c.Sandbox)
}

// unstarted returns the CPUs for the spec of a shared container that has not started, and that no
// cgroup of a QoS class limits yet. These are the reserved CPUs, which never become exclusive. All
// other shared CPUs can become exclusive between the container's creation and its start, and the
// agent may be down when the container starts. Start adds the other shared CPUs before the container
// runs its first instruction. If no CPU is reserved, unstarted returns all CPUs that are shared now.
// If some of these become exclusive before the start, carve returns a new spec, but the container
// runtime may already have read the old spec.
func (n *Node) unstarted(shared cpuset.Set) cpuset.Set {
	if safe := shared.Intersect(n.cfg.Reserved); !safe.Empty() {
		return safe
	}
	return shared
}

// Start writes the CPUs of a container to its cgroup before its processes run, because its spec may
// have other CPUs. The spec of a shared container may have only the reserved CPUs, and the spec of
// a container that was created while the agent was down has all CPUs.
//
// After an error of Start, a container of a pod with restartPolicy Never does not start again.
// After an error of Create, the kubelet tries again with any restartPolicy. So Create does the
// steps that can fail, as far as this is possible. If Start cannot write the cgroup of a shared
// container, it returns no error as long as the CPUs in the container's spec are shared. If Start
// cannot write the cgroup of an exclusive container, it returns no error only under three
// conditions: the cgroup does not exist yet, the spec has only the container's exclusive CPUs, and
// the cgroup need not become a partition. If Start cannot write the cgroup of a QoS class, it
// returns no error as long as this cgroup has only shared CPUs.
func (n *Node) Start(ctx context.Context, c workload.Container) error {
	return n.reportRefusal(ctx, c, n.start(ctx, c), n.afterFailedStart(c))
}

func (n *Node) start(ctx context.Context, c workload.Container) error {
	if _, err := n.reserveAndDecide(ctx, c); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.decide(c)
	bySpec := !c.Resources.CPUs.Empty() && c.Resources.CPUs.SubsetOf(d.CPUs)
	err := n.confine(ctx, c, d)
	switch {
	case err != nil:
	case !d.Exclusive:
		n.env.Cgroups.PersistLater()
	case bySpec:
		n.tryPersist(ctx) // the container runtime has already sent the CPUs of the spec to systemd
	default:
		err = n.persist(ctx) // otherwise a daemon-reload of systemd could put the container on the CPUs of its spec
	}
	if err != nil && !d.Exclusive && n.limits(n.qosCgroup(c.Sandbox)) {
		logr.FromContextOrDiscard(ctx).Info("the container starts on the CPUs of the cgroup of its QoS class", "container", c.String(), "err", err.Error())
		return nil
	}
	if err != nil && bySpec && (!d.Exclusive || errors.Is(err, fs.ErrNotExist) && d.Partition == workload.NoPartition) {
		logr.FromContextOrDiscard(ctx).Info("the container starts on the CPUs of its spec", "container", c.String(), "cpus", c.Resources.CPUs.String(), "err", err.Error())
		return nil
	}
	return confineRefusal(c, d, err)
}

// reserveAndDecide reserves the CPUs that the container's pod requests, unless they are already
// reserved. It also adapts them to a resize (see the method `fit`). It returns the CPUs on which
// the container must run.
func (n *Node) reserveAndDecide(ctx context.Context, c workload.Container) (a workload.Answer, err error) {
	got := n.classifyNew(ctx, c)
	logr.FromContextOrDiscard(ctx).V(2).Info("classified", "container", c.String(), "gets", got.kind)
	if got.kind == refused {
		return a, got.why
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.mu.synced {
		return a, refuse(NotReady, "the agent has not seen this node's containers yet")
	}
	switch {
	case got.request != nil:
		a.Specs, err = n.carve(ctx, c, got)
	case n.holds(c):
		a.Specs, err = n.refit(ctx, c)
	}
	if err != nil {
		return a, err
	}
	specs, err := n.fit(ctx, c)
	if err != nil {
		return a, err
	}
	a.Specs = append(a.Specs, specs...)
	a.Decision = n.decide(c)
	n.forgetFailed(c)
	n.addContainer(c)
	return a, nil
}

// forgetFailed removes earlier containers of the pod from n.mu.pods if they have the name of c and
// no cgroup. Their creation has failed, or they have ended. CRI-O tells NRI plugins nothing if the
// creation of a container fails, and the kubelet tries again without limit. Callers hold n.mu.
func (n *Node) forgetFailed(c workload.Container) {
	p := n.mu.pods[c.Sandbox.Pod.UID]
	if p == nil {
		return
	}
	maps.DeleteFunc(p.containers, func(id string, earlier workload.Container) bool {
		if earlier.Name != c.Name || id == c.ID {
			return false
		}
		_, _, err := n.env.Cgroups.Effective(earlier.Cgroup)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// classifyNew decides what a container gets. The container runtime is about to create or to start
// this container. If the decision depends on a pod that the pod informer does not have yet,
// classifyNew waits for the pod for up to Config.PodWait. It does not hold n.mu while it waits.
func (n *Node) classifyNew(ctx context.Context, c workload.Container) class {
	s := n.subject(c)
	s.granted = n.granted(c)
	if got := classify(s); got.kind != awaitsPod {
		return got
	}
	waiting, cancel := context.WithTimeout(ctx, n.cfg.PodWait)
	defer cancel()
	pod, known := n.env.Pods.Wait(waiting, c.Sandbox.Pod)
	if !known {
		return s.refused(refuse(PodUnknown, "the pod asks for exclusive CPUs, but the API server has not told this node's agent about it yet"))
	}
	s.pod = pod
	return classify(s)
}

// subject returns a container with everything that decides what it gets, except for earlier grants.
func (n *Node) subject(c workload.Container) subject {
	return subject{Container: c, cfg: n.cfg, pod: n.apiPod(c.Sandbox.Pod), qosCgroup: n.qosCgroup(c.Sandbox), groupOf: n.env.GroupOf, notIsolated: n.checkIsolation}
}

// apiPod returns the API object of a pod, or nil if the pod informer does not have the pod.
func (n *Node) apiPod(p workload.Pod) *corev1.Pod {
	if pod, known := n.env.Pods.Pod(p); known {
		return pod
	}
	return nil
}

// granted reports whether an earlier grant says which CPUs the container gets.
func (n *Node) granted(c workload.Container) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.book.covers(c.Sandbox.Pod.UID, c.Name)
}

// holds reports whether the container has exclusive CPUs in n.mu.book. Callers hold n.mu.
func (n *Node) holds(c workload.Container) bool {
	_, holds := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	return holds
}

// assert writes the CPUs of a container to its cgroup. The container may already be running. assert
// returns no error for a container without a cgroup. Such a container has ended or has not started,
// and Start writes the CPUs of a container that has not started. assert does not wait for systemd: a
// caller that must be sure that no daemon-reload reverts the CPUs calls persist next. Callers hold n.mu.
func (n *Node) assert(ctx context.Context, c workload.Container, d workload.Decision) error {
	err := n.confine(ctx, c, d)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	n.env.Cgroups.PersistLater()
	return confineRefusal(c, d, err)
}

// confine writes the CPUs of a container to its cgroup. If the cgroup of a QoS class limits the
// container, confine writes them to that cgroup instead. The error for a container without a cgroup
// is fs.ErrNotExist. If the container is exclusive, confine also removes the CFS quota of its cgroup.
// The cgroup has a quota if the container ran on shared CPUs before, or if the container runtime
// created or resized it without an answer of the agent.
//
// confine does not send the CPUs to systemd. The callers decide whether they must wait for systemd,
// because all hooks have to wait with them, one after another: callers hold n.mu.
func (n *Node) confine(ctx context.Context, c workload.Container, d workload.Decision) error {
	start, target := n.env.Now(), c.Cgroup
	if !d.Exclusive {
		target = cmp.Or(n.qosCgroup(c.Sandbox), c.Cgroup)
	}
	if err := n.env.Cgroups.Confine(ctx, target, d); err != nil {
		return err
	}
	if d.Exclusive {
		if err := n.liftQuota(ctx, c.Cgroup); err != nil {
			return err
		}
	}
	if target != c.Cgroup && !c.Resources.CPUs.Empty() { // the container runtime writes the CPUs of the spec to the cgroup at the start and at each resize
		n.widen(ctx, target, sharerOf(c))
	}
	n.env.Observer.Wrote(Assert, 1, n.env.Now().Sub(start))
	return nil
}

// confineRefusal converts an error of confine or persist to a refusal. If err is nil, it returns nil.
func confineRefusal(c workload.Container, d workload.Decision, err error) error {
	if err == nil {
		return nil
	}
	reason := CgroupFailed
	if errors.Is(err, workload.ErrPartition) {
		reason = IsolationFailed
	}
	return refuse(reason, "container %q cannot be put on CPUs %s: %s", c.Name, d.CPUs, err)
}

// liftQuotaForGood removes the CFS quota of a pod's cgroup. It removes the quota in systemd, too,
// so that a daemon-reload does not restore it. Callers hold n.mu.
func (n *Node) liftQuotaForGood(ctx context.Context, s workload.Sandbox) error {
	if err := n.liftQuota(ctx, s.PodCgroup); err != nil {
		return err
	}
	if err := n.persist(ctx); err != nil {
		return refuse(CgroupFailed, "the CPU quota of the pod's cgroup %s would come back: %s", s.PodCgroup, err)
	}
	return nil
}

// liftQuotas removes the CFS quotas of all pods with exclusive CPUs again. The kubelet writes the quota
// of a pod when it resizes any container of the pod. It may do so when no call of the agent follows, for
// example after it has started the init containers of the pod. Callers hold n.mu.
func (n *Node) liftQuotas(ctx context.Context) {
	for _, h := range n.mu.book.held {
		if err := n.liftQuota(ctx, h.Cgroup); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "the containers of a pod with exclusive CPUs are throttled; retrying", "pod", h.Pod.String())
		}
	}
	n.env.Cgroups.PersistLater()
}

// liftQuota removes the CFS quota of the cgroup of a pod or a container, if the cgroup exists. Until the
// next call of Persist, systemd does not know this, so a daemon-reload would restore the quota.
func (n *Node) liftQuota(ctx context.Context, cgroup string) error {
	err := n.env.Cgroups.LiftQuota(ctx, cgroup)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refuse(CgroupFailed, "the CPU quota of the cgroup %s cannot be lifted: %s", cgroup, err)
	}
	return nil
}
