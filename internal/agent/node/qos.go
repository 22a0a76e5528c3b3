package node

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// Only a Guaranteed pod can have exclusive CPUs. So all containers in the cgroups of the QoS classes
// Burstable and BestEffort are shared containers. Where the kernel limits them all by the cpuset of
// the cgroup of their class (Cgroups.QoSCgroups), the agent sets this cpuset, and leaves the
// cpusets of the pods and containers in it unset. So the time to move shared containers off CPUs
// does not depend on the number of these pods. And a pod that starts while the agent is down cannot
// run on exclusive CPUs.

// qosCgroup returns the cgroup of the QoS class that limits the containers of a pod to the shared
// CPUs. It returns "" if the containers have cpusets of their own.
func (n *Node) qosCgroup(s workload.Sandbox) string { return n.env.Cgroups.QoSCgroup(s.PodCgroup) }

// sharedBy returns the cgroup whose cpuset limits a shared container, or a sandbox, to the shared
// CPUs. This is the cgroup of its QoS class, or else its own cgroup, which is given as `own`.
func (n *Node) sharedBy(s workload.Sandbox, own string) string { return cmp.Or(n.qosCgroup(s), own) }

// checkQoS refuses exclusive CPUs to a container in the cgroup of a QoS class, because all CPUs of
// this cgroup are shared. The kubelet puts only pods there that are not Guaranteed. So the check
// matters only for a static pod whose spec the agent does not know.
func (s subject) checkQoS() error {
	if s.qosCgroup == "" {
		return nil
	}
	return refuse(v1alpha1.NotGuaranteed, "exclusive CPUs need a pod of class Guaranteed, but the cgroup of this pod is in %s; give every container of the pod cpu and memory limits equal to its requests", s.qosCgroup)
}

// widenSharers gives all CPUs to containers and sandboxes in cgroups of QoS classes that have fewer
// CPUs than their class. They have cpusets of their own, which an agent of an earlier release has set.
// The CPUs of the class still limit them. Without this, they would never get CPUs that become
// shared. If it fails, they have too few CPUs, but none that are exclusive. Callers hold n.mu.
func (n *Node) widenSharers(ctx context.Context) {
	for _, p := range n.mu.pods {
		if p.qosCgroup == "" {
			continue
		}
		for _, s := range n.sharersOf(p) {
			if err := n.widen(ctx, s.cgroup, p.qosCgroup); err != nil && !errors.Is(err, fs.ErrNotExist) {
				logr.FromContextOrDiscard(ctx).Error(err, "cannot give "+s.name+" all shared CPUs; retrying when the container runtime connects again")
			}
		}
	}
	n.env.Cgroups.PersistLater()
}

// widen sets all CPUs for a cgroup if it has fewer CPUs than the cgroup of its QoS class. It does not
// empty the cpuset instead, because the kernel refuses that for a cgroup with processes.
func (n *Node) widen(ctx context.Context, cgroup, class string) error {
	limit, _, err := n.env.Cgroups.Effective(class)
	if err != nil {
		return err
	}
	if has, _, err := n.env.Cgroups.Effective(cgroup); err != nil || has.Equal(limit) {
		return err
	}
	return n.env.Cgroups.Confine(ctx, cgroup, workload.Decision{CPUs: n.machine.Online()})
}
