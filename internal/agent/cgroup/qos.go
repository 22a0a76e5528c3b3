package cgroup

import (
	"path"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
)

// QoSCgroups returns those cgroups of the QoS classes Burstable and BestEffort that exist, as paths
// for Confine. With cgroup v2, the cpuset of such a cgroup limits all pods of its class, because
// the kernel intersects the cpuset of a cgroup with that of its parent. So one call of Confine, and
// one request to systemd, change the CPUs of all containers of the class.
//
// With cgroup v1, QoSCgroups returns none: there, the cpuset of a cgroup cannot shrink before the
// cpusets of all cgroups below it have shrunk.
func (c *Cgroups) QoSCgroups() []string {
	if _, v2 := c.tree.(unified); !v2 {
		return nil
	}
	var classes []string
	for _, group := range c.podParents() {
		if !slices.Contains(kubeRoots(), group) {
			classes = append(classes, group)
		}
	}
	return classes
}

// Limits reports whether the kernel limits the pods in the cgroup of a QoS class to the given CPUs,
// and will still do so after systemd has written the cgroup again. systemd does that at a
// daemon-reload, and also when the kubelet changes another property of the class, such as its CPU
// weight. Limits returns false if it cannot read the cgroup, and for the cgroup "".
func (c *Cgroups) Limits(class string, to cpuset.Set) bool {
	at, err := locate(class)
	if err != nil {
		return false
	}
	has, _, err := c.Effective(class)
	if err != nil || !has.SubsetOf(to) {
		return false
	}
	set, err := c.Configured(class)
	return err == nil && !set.Empty() && (at.unit == "" || c.units.has(at.unit, allowed(set, cpuset.Set{})))
}

// QoSCgroup returns the cgroup of the QoS class that contains the cgroup of a pod. It returns "" if
// there is none, for one of these reasons: the pod is Guaranteed, the kubelet has no cgroups of QoS
// classes (--cgroups-per-qos=false), the function kubeRoots does not list the kubelet's root
// cgroup, or the node has cgroup v1.
func (c *Cgroups) QoSCgroup(podCgroup string) string {
	if _, v2 := c.tree.(unified); !v2 {
		return ""
	}
	at, err := locate(podCgroup)
	if err != nil {
		return ""
	}
	parent := path.Dir(at.path)
	for _, root := range kubeRoots() {
		if parent == qosCgroup(root, "burstable") || parent == qosCgroup(root, "besteffort") {
			return parent
		}
	}
	return ""
}
