package direct

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/pkg/workload"
)

// translate returns a pod's cgroups in the terms of package workload. pod is nil
// if it is not in the informer's cache yet. Then none of its cgroups is written, because
// its containers may be exclusive.
//
// A pod without a request becomes one sandbox in the pod's own cgroup. The pod cgroup of any other
// pod is not written, because exclusive CPUs are outside of the shared set. Its containers become
// containers once the pod status has their IDs, and shared sandboxes before that. The status never
// has the pause process.
func translate(group cgroup.PodCgroup, pod *corev1.Pod) ([]workload.Sandbox, []workload.Container) {
	whole := workload.Sandbox{ID: group.UID, Pod: workload.Pod{UID: group.UID}, PodCgroup: group.Target}
	if pod == nil {
		return []workload.Sandbox{whole}, nil
	}
	whole.Pod.Namespace, whole.Pod.Name = pod.Namespace, pod.Name
	whole.Annotations = pod.Annotations
	if !mayRequest(pod) {
		whole.Cgroup = group.Target
		return []workload.Sandbox{whole}, nil
	}
	sandboxes := []workload.Sandbox{whole}
	var containers []workload.Container
	names := namesByID(pod)
	for _, container := range group.Containers {
		if name, ok := names[container.ID]; ok {
			containers = append(containers, workload.Container{
				ID: container.ID, Name: name, Sandbox: whole, Cgroup: container.Target, Annotations: allocated(pod, name),
			})
			continue
		}
		unnamed := whole
		unnamed.ID, unnamed.Cgroup = container.ID, container.Target
		sandboxes = append(sandboxes, unnamed)
	}
	return sandboxes, containers
}

// mayRequest reports whether the pod requests exclusive CPUs in some form, valid
// or not.
func mayRequest(pod *corev1.Pod) bool {
	request, err := v1alpha1.ReadCPURequest(pod)
	return err != nil || request.Form != v1alpha1.None || v1alpha1.MayRequest(pod.Annotations)
}

// namesByID returns the names of the running containers by the runtime's ID, which
// the kubelet reports as "containerd://<id>".
func namesByID(pod *corev1.Pod) map[string]string {
	names := map[string]string{}
	status := &pod.Status
	for _, list := range [][]corev1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for _, c := range list {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok {
				names[id] = c.Name
			}
		}
	}
	return names
}

// allocated rebuilds the annotations that the device plugin returned in Allocate,
// which only the runtime has: the kubelet allocated exactly what the container's
// limits say, or the container would not run.
func allocated(pod *corev1.Pod, name string) map[string]string {
	request, err := v1alpha1.ReadCPURequest(pod)
	want, exclusive := request.Exclusive(name)
	if err != nil || !exclusive {
		return nil
	}
	annotations := map[string]string{}
	for node, count := range want.PerNode {
		token := fmt.Sprintf("numa%d-cpu", node)
		annotations[v1alpha1.AllocatedAnnotation(node)] = strings.TrimPrefix(strings.Repeat(","+token, count), ",")
	}
	return annotations
}
