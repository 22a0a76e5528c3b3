package node

import (
	"context"
	"errors"
	"io/fs"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// Only a Guaranteed pod can have exclusive CPUs. So all containers in the cgroups of the QoS
// classes Burstable and BestEffort are shared containers. If the cpuset of such a cgroup limits all
// containers in the cgroup (see Cgroups.QoSCgroups), the agent sets this cpuset, and leaves the
// cpusets of the pods and containers in the cgroup unset. So the number of these pods does not
// affect how long it takes to move shared containers off CPUs. And a pod of these classes that
// starts while the agent is down cannot run on exclusive CPUs.

// qosCgroup returns the cgroup of the QoS class that limits the containers of a pod to the shared
// CPUs. It returns "" if the containers have cpusets of their own.
func (n *Node) qosCgroup(s workload.Sandbox) string { return n.env.Cgroups.QoSCgroup(s.PodCgroup) }

// checkQoS refuses exclusive CPUs to a container in the cgroup of a QoS class, because all CPUs of
// this cgroup are shared. All pods in such a cgroup are Burstable or BestEffort. So the check
// matters only for a static pod whose spec the agent does not know.
func (s subject) checkQoS() error {
	if s.qosCgroup == "" {
		return nil
	}
	return refuse(v1alpha1.NotGuaranteed, "exclusive CPUs need a pod of class Guaranteed, but the cgroup of this pod is in %s; give every container of the pod cpu and memory limits equal to its requests", s.qosCgroup)
}

// dropGrantsInQoSCgroups drops the grants of pods in the cgroups of QoS classes. Only an agent of
// an earlier release can have made such a grant, and only for a static pod (see checkQoS).
func (n *Node) dropGrantsInQoSCgroups() {
	for _, h := range n.mu.book.sorted() {
		if n.env.Cgroups.QoSCgroup(h.Cgroup) != "" {
			n.mu.book.dropGrant(h.Grant.UID)
		}
	}
}

// limits reports whether the cgroup of a QoS class limits all containers in it to shared CPUs, and
// will still do so after systemd has written the cgroup again. Callers hold n.mu.
func (n *Node) limits(class string) bool { return n.env.Cgroups.Limits(class, n.shared()) }

// widenSharers looks for containers, sandboxes and pods whose cgroups have cpusets of their own
// although the cgroup of a QoS class limits them. It sets these cpusets to all CPUs (see the method
// `widen`). The agent sets the cpuset of a pod's cgroup only for its own pod (see confineOrParent of
// package cgroup). But programs that limit BestEffort pods, such as Koordinator's koordlet, also set
// the cpusets of pods' cgroups. Callers hold n.mu.
func (n *Node) widenSharers(ctx context.Context) {
	if !n.mu.narrow {
		return
	}
	n.mu.narrow = false
	for _, p := range n.mu.pods {
		if p.qosCgroup == "" {
			continue
		}
		for _, s := range append(n.sharersOf(p), sharer{name: "pod " + p.ref.String(), cgroup: p.cgroup}) {
			n.widen(ctx, p.qosCgroup, s)
		}
	}
	n.env.Cgroups.PersistLater()
}

// widen sets the cpuset of a container, sandbox or pod to all CPUs if the cgroup of a QoS class limits
// it. With a smaller cpuset, its processes would never get the CPUs that become shared later. If no
// cpuset is set, widen does nothing. The cpuset was set by another program, or by Create, RunSandbox
// or an agent of an earlier release, when the cgroup of the class did not limit its containers yet.
// If the cgroup of the class still does not limit them, only their own cpusets keep them off
// exclusive CPUs. In this case, widen leaves the cpuset as it is, and sets n.mu.narrow, so that
// widenSharers tries again later.
//
// widen does not empty the cpuset instead, because Linux 6.1 refuses that for a cgroup with
// processes (ENOSPC). It writes the cpuset even if the cpuset already has all CPUs, because systemd
// may not know that: an earlier agent may have ended before it sent the CPUs to systemd. Callers
// hold n.mu.
func (n *Node) widen(ctx context.Context, class string, s sharer) {
	own, err := n.env.Cgroups.Configured(s.cgroup)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && own.Empty():
		return
	case err == nil && !n.limits(class):
		n.mu.narrow = true
		return
	case err == nil:
		err = n.env.Cgroups.Confine(ctx, s.cgroup, workload.Decision{CPUs: n.machine.Online()})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.mu.narrow = true
		logr.FromContextOrDiscard(ctx).V(2).Info("cannot give "+s.name+" all shared CPUs; retrying", "err", err.Error())
	}
}
