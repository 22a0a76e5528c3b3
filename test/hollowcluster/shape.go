package hollowcluster

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
)

// GPU is the resource name of whole GPUs.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// Shape has the resources of each node of a simulated cluster. CPU 0 of each node is reserved for
// the system.
type Shape struct {
	NUMA  int    // number of NUMA nodes
	CPUs  int    // number of CPUs of each NUMA node
	GPUs  int    // number of GPUs of the whole node
	Model string // model of the GPUs; if not "", the NodeTopology lists the GPUs as GPU-NODE-0, ..., spread evenly over the NUMA nodes
	Zones int    // number of zones, to which the nodes are assigned one after another; 0 for no zones
}

// Node returns the i-th node of the cluster.
func (s Shape) Node(i int) *corev1.Node {
	n := s.Named(fmt.Sprintf("node-%05d", i))
	if s.Zones > 0 {
		n.Labels[corev1.LabelTopologyZone] = "z" + strconv.Itoa(i%s.Zones)
	}
	return n
}

// Named returns a ready Node object with the given name, and with all resources that a kubelet,
// device plugins and an agent would publish.
func (s Shape) Named(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", v1alpha1.LabelExclusiveCPUs: "true",
	}}}
	node.Status.Capacity = s.resources(0)
	node.Status.Allocatable = s.resources(1)
	now := metav1.Now()
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	return node
}

// resources returns the resources of a node, less the given number of reserved CPUs, which are on
// NUMA node 0.
func (s Shape) resources(reserved int) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    quantity(s.NUMA*s.CPUs - reserved),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	for id := range s.NUMA {
		cpus := s.CPUs
		if id == 0 {
			cpus -= reserved
		}
		list[corev1.ResourceName(v1alpha1.NUMAResource(topology.NodeID(id)))] = quantity(cpus)
	}
	if s.GPUs > 0 {
		list[GPU] = quantity(s.GPUs)
	}
	return list
}

// topology returns the NodeTopology that a node's agent would publish.
func (s Shape) topology(node *corev1.Node) *v1alpha1.NodeTopology {
	t := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: types.UID(node.UID)},
	}}}
	t.APIVersion, t.Kind = v1alpha1.GroupVersion().String(), "NodeTopology"
	t.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Serving", LastTransitionTime: metav1.NewTime(time.Now()),
	}}
	all := int32(s.NUMA * s.CPUs)
	t.Status.Machine = v1alpha1.Machine{
		Packages: 1, NUMANodes: int32(s.NUMA), Cores: all / 2, ThreadsPerCore: 2, GPUs: int32(s.GPUs), ReservedCPUs: "0",
	}
	t.Status.CPUs = v1alpha1.CPUCounts{Capacity: all, Allocatable: all - 1, Available: all - 1}
	for id := range s.NUMA {
		t.Status.NUMA = append(t.Status.NUMA, s.numa(id))
	}
	for i := range s.GPUs {
		if s.Model != "" {
			t.Status.GPUs = append(t.Status.GPUs, v1alpha1.GPU{
				ID: fmt.Sprintf("GPU-%s-%d", node.Name, i), Index: int32(i), Model: s.Model, Form: "physical", Health: "Healthy",
				NUMA: new(int32(i * s.NUMA / s.GPUs)),
			})
		}
	}
	return t
}

func (s Shape) numa(id int) v1alpha1.NUMANode {
	memory := resource.MustParse("64Gi")
	n := v1alpha1.NUMANode{
		ID: int32(id), CPUs: fmt.Sprintf("%d-%d", id*s.CPUs, (id+1)*s.CPUs-1), Memory: &memory, AvailableMemory: &memory,
		CPUCounts: v1alpha1.CPUCounts{Capacity: int32(s.CPUs), Allocatable: int32(s.CPUs), Available: int32(s.CPUs)},
	}
	if id == 0 {
		n.Allocatable, n.Available = n.Allocatable-1, n.Available-1
	}
	return n
}

func quantity(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
