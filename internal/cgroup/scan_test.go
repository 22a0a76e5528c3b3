package cgroup

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestContainers(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("0", 64)
	const uid, unitUID = "1c0-2d", "1c0_2d"
	for name, tc := range map[string]struct {
		dirs []string
		want []Container
	}{
		"cgroupfs": {
			dirs: []string{"kubepods/pod" + uid + "/" + a, "kubepods/besteffort/pod2/" + b, "kubepods/pod3/not-an-id", "system/" + a},
			want: []Container{
				{"/kubepods/besteffort/pod2/" + b, "/kubepods/besteffort/pod2", "2", b},
				{"/kubepods/pod" + uid + "/" + a, "/kubepods/pod" + uid, uid, a},
			},
		},
		"systemd": {
			dirs: []string{
				"kubepods.slice/kubepods-pod" + unitUID + ".slice/cri-containerd-" + a + ".scope/container",
				"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice/crio-" + b + ".scope",
				"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice/crio-conmon-" + b + ".scope",
			},
			want: []Container{
				{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice/crio-" + b + ".scope", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice", "2", b},
				{"/kubepods.slice/kubepods-pod" + unitUID + ".slice/cri-containerd-" + a + ".scope", "/kubepods.slice/kubepods-pod" + unitUID + ".slice", uid, a},
			},
		},
		"kind": {
			dirs: []string{"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice/cri-containerd-" + a + ".scope"},
			want: []Container{{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice/cri-containerd-" + a + ".scope",
				"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice", "1", a}},
		},
		"no kubelet": {},
	} {
		t.Run(name, func(t *testing.T) {
			root := fake(t, map[string]string{})
			for _, dir := range tc.dirs {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got, err := open(t, Options{Root: root}).Containers()
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(got, func(a, b Container) int { return cmp.Compare(a.Target, b.Target) })
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}
