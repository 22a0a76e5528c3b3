package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPods(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("0", 64)
	const (
		slice = "/kubepods.slice/kubepods-pod1c0_2d.slice"
		burst = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice"
		kind  = "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice"
	)
	for name, tc := range map[string]struct {
		dirs []string
		want []PodCgroup
	}{
		"cgroupfs": {
			dirs: []string{"/kubepods/pod1c0-2d/" + a, "/kubepods/besteffort/pod2/" + b, "/kubepods/pod3/not-an-id", "/system/pod4/" + a},
			want: []PodCgroup{
				{"/kubepods/pod1c0-2d", "1c0-2d", []ContainerCgroup{{"/kubepods/pod1c0-2d/" + a, a}}},
				{"/kubepods/pod3", "3", nil},
				{"/kubepods/besteffort/pod2", "2", []ContainerCgroup{{"/kubepods/besteffort/pod2/" + b, b}}},
			},
		},
		"systemd": {
			dirs: []string{slice + "/cri-containerd-" + a + ".scope/container", burst + "/crio-" + b + ".scope", burst + "/crio-conmon-" + b + ".scope"},
			want: []PodCgroup{
				{slice, "1c0-2d", []ContainerCgroup{{slice + "/cri-containerd-" + a + ".scope", a}}},
				{burst, "2", []ContainerCgroup{{burst + "/crio-" + b + ".scope", b}}},
			},
		},
		"kind": {
			dirs: []string{kind + "/cri-containerd-" + a + ".scope"},
			want: []PodCgroup{{kind, "1", []ContainerCgroup{{kind + "/cri-containerd-" + a + ".scope", a}}}},
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
			got, err := open(t, Options{Root: root}).Pods()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDirs(t *testing.T) {
	root := fake(t, map[string]string{"kubepods/burstable/pod1/cgroup.procs": ""})
	got, err := open(t, Options{Root: root}).Dirs()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{root + "/kubepods", root + "/kubepods/burstable", root + "/kubepods/burstable/pod1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
}
