package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Hollow makes a node without a machine: what a kubelet and an agent would say
// of it is said here, so that the controller gives its CPUs away, but no pod on
// it ever starts. It has so many CPUs on each NUMA node. It stays Ready until
// ctx ends; Bury removes it.
func (c *Cluster) Hollow(ctx context.Context, name string, numaNodes ...int32) error {
	node, err := c.API.CoreV1().Nodes().Create(ctx, hollowNode(name), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := c.beat(ctx, node, numaNodes); err != nil {
		return err
	}
	go func() {
		// The node lifecycle controller waits 40 s for a sign of life.
		for every := time.NewTicker(10 * time.Second); ; {
			select {
			case <-ctx.Done():
				every.Stop()
				return
			case <-every.C:
				_ = c.beat(ctx, node, numaNodes) // a beat that is lost is followed by another
			}
		}
	}()
	return c.publish(ctx, hollowTopology(node, numaNodes))
}

// Bury removes what Hollow made. Its pods have to be gone before: nobody else
// would remove them.
func (c *Cluster) Bury(ctx context.Context, name string) error {
	return c.API.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}) // its NodeTopology goes with it
}

// hollowNode has no label that a DaemonSet selects by.
func hollowNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, v1alpha1.LabelExclusiveCPUs: "true",
	}}}
}

// beat says what a kubelet says.
func (c *Cluster) beat(ctx context.Context, node *corev1.Node, numaNodes []int32) error {
	amounts := corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("1000"),
	}
	cpus := int64(0)
	for id, n := range numaNodes {
		amounts[corev1.ResourceName(v1alpha1.NUMAResource(id))] = *resource.NewQuantity(int64(n), resource.DecimalSI)
		cpus += int64(n)
	}
	amounts[corev1.ResourceCPU] = *resource.NewQuantity(cpus, resource.DecimalSI)
	now := metav1.Now()
	status := corev1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Hollow", LastHeartbeatTime: now, LastTransitionTime: node.CreationTimestamp,
	}}}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encode status of node %s: %w", node.Name, err)
	}
	_, err = c.API.CoreV1().Nodes().PatchStatus(ctx, node.Name, patch)
	return err
}

// hollowTopology is what an agent says of an empty machine; one CPU beside those
// is reserved.
func hollowTopology(node *corev1.Node, numaNodes []int32) *v1alpha1.NodeTopology {
	t := &v1alpha1.NodeTopology{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "NodeTopology"},
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		}},
	}
	first := int32(1)
	for id, n := range numaNodes {
		t.Status.NUMA = append(t.Status.NUMA, v1alpha1.NUMANode{
			ID: int32(id), CPUs: fmt.Sprintf("%d-%d", first, first+n-1),
			CPUCounts: v1alpha1.CPUCounts{Capacity: n, Allocatable: n, Available: n},
			Memory:    resource.NewQuantity(4<<30, resource.BinarySI), AvailableMemory: resource.NewQuantity(4<<30, resource.BinarySI),
		})
		first += n
	}
	t.Status.Machine = v1alpha1.Machine{Packages: 1, NUMANodes: int32(len(numaNodes)), Cores: first, ThreadsPerCore: 1, ReservedCPUs: "0"}
	t.Status.CPUs = v1alpha1.CPUCounts{Capacity: first, Allocatable: first - 1, Available: first - 1}
	t.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Hollow", LastTransitionTime: metav1.Now(),
	}}
	return t
}

// publish makes a NodeTopology, whose status is written apart from the rest.
func (c *Cluster) publish(ctx context.Context, t *v1alpha1.NodeTopology) error {
	rest := c.API.CoreV1().RESTClient()
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode NodeTopology %s: %w", t.Name, err)
	}
	if err := rest.Post().AbsPath(topologies).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error(); err != nil {
		return fmt.Errorf("make NodeTopology %s: %w", t.Name, err)
	}
	err = rest.Patch("application/merge-patch+json").AbsPath(topologies, t.Name, "status").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("publish NodeTopology %s: %w", t.Name, err)
	}
	return nil
}
