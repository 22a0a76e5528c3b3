package hollowcluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Hold updates the NodeTopologies as the agents do when pods start: it adds the exclusive CPUs and
// the GPUs of the pods to the status of each NodeTopology. One call of Hold must contain all pods
// of a node. Pods without a node are ignored.
func (p *Plane) Hold(ctx context.Context, pods []corev1.Pod) error {
	client, err := p.resources()
	if err != nil {
		return err
	}
	to, on := client.Resource(v1alpha1.NodeTopologyResource()), map[string][]corev1.Pod{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
		}
	}
	nodes := slices.Sorted(maps.Keys(on))
	return Each(ctx, len(nodes), func(ctx context.Context, i int) error {
		object, err := to.Get(ctx, nodes[i], metav1.GetOptions{})
		if err != nil {
			return err
		}
		var t v1alpha1.NodeTopology
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &t); err != nil {
			return fmt.Errorf("read topology of %s: %w", nodes[i], err)
		}
		if err := hold(&t.Status, on[nodes[i]]); err != nil {
			return fmt.Errorf("topology of %s: %w", nodes[i], err)
		}
		if object.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&t); err != nil {
			return fmt.Errorf("write topology of %s: %w", nodes[i], err)
		}
		_, err = to.UpdateStatus(ctx, object, metav1.UpdateOptions{})
		return err
	})
}

// hold adds the exclusive CPUs and the GPUs of pods to a status that lists no pods yet. It gives each
// container the free CPUs with the smallest numbers.
func hold(s *v1alpha1.NodeTopologyStatus, pods []corev1.Pod) error {
	free := map[topology.NodeID]cpuset.Set{}
	for _, numa := range s.NUMA {
		free[topology.NodeID(numa.ID)] = cpuset.MustParse(numa.CPUs).Minus(cpuset.MustParse(s.Machine.ReservedCPUs))
	}
	pods = slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	for _, pod := range pods {
		decided, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement])
		if err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		cpus := v1alpha1.PodCPUs{UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name}
		gpus := v1alpha1.GPUHolder{UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name}
		for _, name := range slices.Sorted(maps.Keys(decided.Containers)) {
			var held cpuset.Set
			for id, n := range decided.Containers[name].CPUs {
				taken := free[id].Slice()
				if len(taken) < n {
					return fmt.Errorf("pod %s has %d CPUs of NUMA node %d, where %d are free", pod.Name, n, id, len(taken))
				}
				held = held.Union(cpuset.Of(taken[:n]...))
			}
			for id := range free {
				free[id] = free[id].Minus(held)
			}
			if !held.Empty() {
				cpus.Containers = append(cpus.Containers, v1alpha1.ContainerCPUs{Name: name, CPUs: held.String()})
			}
			gpus.Devices = append(gpus.Devices, decided.Containers[name].GPUs...)
		}
		if len(cpus.Containers) > 0 {
			s.Pods = append(s.Pods, cpus)
		}
		if slices.Sort(gpus.Devices); len(gpus.Devices) > 0 {
			s.GPUHolders = append(s.GPUHolders, gpus)
		}
	}
	s.CPUs.Available = 0
	for i := range s.NUMA {
		s.NUMA[i].Available = int32(free[topology.NodeID(s.NUMA[i].ID)].Len())
		s.CPUs.Available += s.NUMA[i].Available
	}
	return nil
}
