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

// lister gives one instance of the framework the data of the cluster that the current pod needs.
// The framework lists all nodes in every cycle. The list is empty unless the pod's filters read it.
type lister struct {
	cluster    *Cluster
	namespaces corelisters.NamespaceLister
	pod        *Pod // the current pod
	planned    planned
	surveyed   []fwk.NodeInfo                  // what List returns while nodes are rated; nil while they are not
	proposed   map[string][]*framework.PodInfo // the pods that ratings count in addition, by node
}

func newLister(c *Cluster, api API) *lister {
	return &lister{cluster: c, namespaces: api.Informers.Core().V1().Namespaces().Lister()}
}

// node returns a node's newest info including planned pods, or nil.
func (l *lister) node(name string) *nodeInfo {
	return l.on(name, l.cluster.node(name))
}

// at returns the same as node, for a record.
func (l *lister) at(node *sched.Node) *nodeInfo {
	return l.on(node.Name, l.cluster.at(node))
}

// on returns a node's info with the pods that are planned there. While nodes are rated, it also
// adds the pods that are proposed for the node.
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

// NodeInfos returns the lister of nodes.
func (l *lister) NodeInfos() fwk.NodeInfoLister { return l }

// StorageInfos returns the lister of claims.
func (l *lister) StorageInfos() fwk.StorageInfoLister { return l }

// PodGroupStates returns nil: gangs are planned outside the filters.
func (l *lister) PodGroupStates() fwk.PodGroupStateLister { return nil }

// List returns all nodes if the current pod's filters read them, else none.
func (l *lister) List() ([]fwk.NodeInfo, error) {
	switch {
	case l.surveyed != nil:
		return l.surveyed, nil
	case !l.pod.wide:
		return nil, nil
	}
	return l.all(), nil
}

// all returns the infos of all nodes.
func (l *lister) all() (all []fwk.NodeInfo) {
	for e := range l.cluster.state.Entries() {
		if info := l.on(e.Name(), known(e)); info != nil {
			all = append(all, info)
		}
	}
	return all
}

// HavePodsWithAffinityList returns the nodes of pods whose terms attract the current pod or keep it
// away. Only ratings read it.
func (l *lister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return l.infos(l.drawn()), nil }

// HavePodsWithRequiredAntiAffinityList returns the nodes of pods whose anti-affinity excludes
// the current pod. Other pods with anti-affinity do not concern it.
func (l *lister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.infos(l.apart()), nil
}

// infos returns the infos of the nodes that exist.
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

// apart returns the names of those nodes.
func (l *lister) apart() sets.Set[string] {
	apart := l.cluster.terms.nodes(l.pod.info.Pod, l.namespace)
	if len(l.planned.pods) > 0 {
		apart = apart.Union(l.planned.terms.nodes(l.pod.info.Pod, l.namespace))
	}
	return apart
}

// namespace returns the labels of the pod's namespace. Like kube-scheduler, it returns no labels
// for an unknown namespace.
func (l *lister) namespace() labels.Set {
	ns, err := l.namespaces.Get(l.pod.info.Pod.Namespace)
	if err != nil {
		ns = &v1.Namespace{}
	}
	return ns.Labels
}

// Get returns the newest info of a node.
func (l *lister) Get(name string) (fwk.NodeInfo, error) {
	if info := l.node(name); info != nil {
		return info, nil
	}
	return nil, fmt.Errorf("find node %q: not known", name)
}

// IsPVCUsedByPods reports whether a placed pod uses the claim "namespace/name".
func (l *lister) IsPVCUsedByPods(claim string) bool { return l.cluster.used(claim) }
