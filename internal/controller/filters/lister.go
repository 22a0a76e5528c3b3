package filters

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// lister gives the data of the cluster to the instances of kube-scheduler's framework that belong
// to one Proposer. It gives the data that matters for the current pod, the pod that is being
// filtered. The framework asks for a list of all nodes in every scheduling cycle. If the pod has
// neither required (anti-)affinity nor required topology spread, the filters do not read this list,
// so the lister returns an empty list.
type lister struct {
	cluster    *Cluster
	namespaces corelisters.NamespaceLister
	pod        *Pod // the pod that is being filtered
	planned    planned
	surveyed   []fwk.NodeInfo                  // what List returns while nodes are rated; otherwise nil
	proposed   map[string][]*framework.PodInfo // pods that count when nodes are rated, although they have no node yet; by the name of the proposed node
}

func newLister(c *Cluster, api API) *lister {
	return &lister{cluster: c, namespaces: api.Informers.Core().V1().Namespaces().Lister()}
}

// node returns the nodeInfo of a node. If pods are planned on the node (see the type `planned`),
// this is the nodeInfo that the node had when they were planned, with the planned pods. Otherwise
// it is the newest nodeInfo, or nil if the node does not exist.
func (l *lister) node(name string) *nodeInfo {
	return l.on(name, l.cluster.node(name))
}

// The method `at` is like l.node, but takes a node's record (sched.Node) instead of the node's
// name.
func (l *lister) at(node *sched.Node) *nodeInfo {
	return l.on(node.Name, l.cluster.at(node))
}

// The method `on` returns the nodeInfo of a node, like l.node. The argument `info` is the newest
// nodeInfo of the node, or nil. While nodes are rated, the result also has the pods that are
// proposed for the node (see the type `proposals`).
func (l *lister) on(name string, info *nodeInfo) *nodeInfo {
	info = l.planned.on(name, info)
	if info == nil {
		return nil
	}
	for _, pod := range l.proposed[name] {
		info = withPod(info, pod)
	}
	return info
}

// NodeInfos returns the lister itself, which implements fwk.NodeInfoLister.
func (l *lister) NodeInfos() fwk.NodeInfoLister { return l }

// StorageInfos returns the lister itself, which implements fwk.StorageInfoLister.
func (l *lister) StorageInfos() fwk.StorageInfoLister { return l }

// PodGroupStates returns nil, because Numalet plans gangs without kube-scheduler's framework.
func (l *lister) PodGroupStates() fwk.PodGroupStateLister { return nil }

// List returns all nodes if the current pod has required (anti-)affinity or required topology
// spread, and otherwise none. While nodes are rated, it instead returns l.surveyed, the list of
// nodes for the plugins that rate nodes (see the method `survey`).
func (l *lister) List() ([]fwk.NodeInfo, error) {
	switch {
	case l.surveyed != nil:
		return l.surveyed, nil
	case !l.pod.wide:
		return nil, nil
	}
	return l.all(), nil
}

// all returns the nodeInfos of all nodes.
func (l *lister) all() (all []fwk.NodeInfo) {
	for e := range l.cluster.state.Entries() {
		if info := l.on(e.Name(), known(e)); info != nil {
			all = append(all, info)
		}
	}
	return all
}

// HavePodsWithAffinityList returns the nodes that have a placed pod whose affinity or
// anti-affinity makes the current pod prefer or avoid nodes. Only the plugins that rate nodes read
// this list.
func (l *lister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return l.infos(l.drawn()), nil }

// HavePodsWithRequiredAntiAffinityList returns the nodes that have a placed or planned pod whose
// required anti-affinity selects the current pod. In kube-scheduler, the list also has the nodes
// with pods whose required anti-affinity does not select the current pod. Such pods do not affect
// the current pod.
func (l *lister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.infos(l.apart()), nil
}

// infos returns the nodeInfos of the named nodes. It leaves out nodes that do not exist.
func (l *lister) infos(names sets.Set[string]) (found []fwk.NodeInfo) {
	for name := range names {
		if info := l.node(name); info != nil {
			found = append(found, info)
		}
	}
	return found
}

// drawn returns the names of the nodes that HavePodsWithAffinityList returns.
func (l *lister) drawn() sets.Set[string] {
	return l.cluster.draws.nodes(l.pod.info.Pod, l.namespace)
}

// The method `apart` returns the names of the nodes that HavePodsWithRequiredAntiAffinityList
// returns.
func (l *lister) apart() sets.Set[string] {
	apart := l.cluster.terms.nodes(l.pod.info.Pod, l.namespace)
	if len(l.planned.pods) > 0 {
		apart = apart.Union(l.planned.terms.nodes(l.pod.info.Pod, l.namespace))
	}
	return apart
}

// namespace returns the labels of the current pod's Namespace. Like kube-scheduler, it returns no
// labels if the Namespace is unknown.
func (l *lister) namespace() labels.Set {
	ns, err := l.namespaces.Get(l.pod.info.Pod.Namespace)
	if err != nil {
		ns = &v1.Namespace{}
	}
	return ns.Labels
}

// Get is like l.node, but returns an error if the node does not exist.
func (l *lister) Get(name string) (fwk.NodeInfo, error) {
	if info := l.node(name); info != nil {
		return info, nil
	}
	return nil, fmt.Errorf("find node %q: not known", name)
}

// IsPVCUsedByPods reports whether a placed pod uses the PersistentVolumeClaim "namespace/name".
func (l *lister) IsPVCUsedByPods(claim string) bool { return l.cluster.used(claim) }
