package direct

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/pkg/workload"
)

// translate converts a pod's cgroups to the types of package workload, which has the sandboxes and
// containers that a runtime reports. pod is nil if it is not in the informer's cache yet. Then the
// agent writes none of the pod's cgroups, because its containers may request exclusive CPUs.
//
// A pod that does not request exclusive CPUs becomes one sandbox, whose cgroup is the pod's own cgroup.
// For a pod that requests them, the pod's own cgroup is not written: it must allow shared and exclusive
// CPUs. A container of that pod becomes a workload.Container once the pod status has its ID. Before
// that it becomes a sandbox, which runs on the shared CPUs. The pause process is always such a sandbox,
// because the pod status never has its ID.
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

// mayRequest reports whether the pod requests exclusive CPUs, even if its request is invalid.
func mayRequest(pod *corev1.Pod) bool {
	request, err := v1alpha1.ReadCPURequest(pod)
	return err != nil || request.Form != v1alpha1.None || v1alpha1.MayRequest(pod.Annotations)
}

// namesByID returns the names of the containers in the pod status, by the ID that the runtime gave
// each. The kubelet reports the ID as "containerd://<id>".
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

// allocated rebuilds the annotations that the device plugin returned from Allocate for a container.
// Only the runtime has the original annotations. The kubelet allocated exactly what the container's
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
