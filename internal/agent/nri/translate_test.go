package nri

import (
	"testing"

	"github.com/containerd/nri/pkg/api"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/workload"
)

// TestContainerWithoutSandbox checks a container whose sandbox the container runtime no longer
// has. The plugin must find the container's pod by the labels and the cgroup of the container, so
// that the agent notices when the pod ends.
func TestContainerWithoutSandbox(t *testing.T) {
	for name, tc := range map[string]struct{ cgroup, want string }{
		"cgroupfs": {"/kubepods/burstable/podu1/c1", "/kubepods/burstable/podu1"},
		"systemd":  {"kubepods-burstable-podu1.slice:cri-containerd:c1", "kubepods-burstable-podu1.slice"},
		"none":     {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := asContainer(nil, &api.Container{
				Id: "c1", PodSandboxId: "s1", Name: "main", Linux: &api.LinuxContainer{CgroupsPath: tc.cgroup},
				Labels: map[string]string{labelPodUID: "u1", labelPodName: "pod", labelPodNamespace: "ns"},
			})
			want := workload.Sandbox{ID: "s1", Pod: workload.Pod{UID: "u1", Namespace: "ns", Name: "pod"}, PodCgroup: tc.want}
			if diff := cmp.Diff(want, got.Sandbox); diff != "" {
				t.Errorf("sandbox (-want +got):\n%s", diff)
			}
		})
	}
}
