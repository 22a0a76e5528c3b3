package direct

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/pkg/workload"
)

// translate converts a pod's cgroups to the sandboxes and containers that a container runtime with
// NRI would report. `pod` is nil if the pod informer does not have the pod yet. In this case, the
// agent writes none of the pod's cgroups, because it does not know yet whether the pod's containers
// request exclusive CPUs.
//
// A pod that does not request exclusive CPUs becomes one sandbox, whose cgroup is the pod's own
// cgroup. For a pod that requests exclusive CPUs, the agent does not write the pod's own cgroup,
// because this cgroup must allow both shared and exclusive CPUs. A container of that pod becomes a
// workload.Container once the pod status has the container's ID. Before that, the container becomes
// a sandbox, which runs on the shared CPUs. The pause process is always a sandbox, because the pod
// status never has the ID of the pause process.
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

// mayRequest reports whether it is possible that the pod requests exclusive CPUs. It also returns
// true if the request is invalid, and for a pod with the annotation numalet.dev/placement, in which
// numalet-controller writes how many exclusive CPUs each container gets.
func mayRequest(pod *corev1.Pod) bool {
	request, err := v1alpha1.ReadCPURequest(pod)
	return err != nil || request.Form != v1alpha1.None || v1alpha1.MayRequest(pod.Annotations)
}

// namesByID returns the names of the containers in the pod status, by container ID. In the status,
// the name of the container runtime precedes the ID, as in "containerd://<id>". The result has the
// IDs without this name.
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

// allocated rebuilds the annotations that the device plugin returned from Allocate for a container,
// because only the container runtime has the original annotations. It can use the container's
// limits for that: the container runs, so the kubelet has allocated exactly what the limits say.
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
