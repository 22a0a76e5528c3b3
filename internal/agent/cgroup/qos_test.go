package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

func TestQoSCgroups(t *testing.T) {
	for name, tc := range map[string]struct {
		dirs, want []string
	}{
		"cgroupfs":       {[]string{"kubepods/burstable", "kubepods/besteffort"}, []string{"/kubepods/burstable", "/kubepods/besteffort"}},
		"systemd":        {[]string{"kubepods.slice/kubepods-burstable.slice"}, []string{"/kubepods.slice/kubepods-burstable.slice"}},
		"no QoS classes": {[]string{"kubepods.slice"}, nil},
		"no pods at all": {},
		"another cgroup": {[]string{"system.slice/kubepods-burstable.slice"}, nil},
		"kind":           {[]string{"kubelet/kubepods/burstable"}, []string{"/kubelet/kubepods/burstable"}},
		"kind, systemd":  {[]string{"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice"}, []string{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := fake(t, map[string]string{})
			for _, dir := range tc.dirs {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got := open(t, Options{Root: root}).QoSCgroups()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("cgroups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQoSCgroup(t *testing.T) {
	c := open(t, Options{Root: fake(t, map[string]string{})})
	for pod, want := range map[string]string{
		"/kubepods/pod1":             "",
		"/kubepods/burstable/pod1":   "/kubepods/burstable",
		"/kubepods/besteffort/pod1":  "/kubepods/besteffort",
		"kubepods-pod1.slice":        "",
		"kubepods-burstable-p.slice": "/kubepods.slice/kubepods-burstable.slice",
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-p.slice": "/kubepods.slice/kubepods-besteffort.slice",
		"kubelet-kubepods-burstable-p.slice":                                    "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice",
		"/other/burstable/pod1":                                                 "",
		"/burstable":                                                            "",
		"":                                                                      "",
	} {
		if got := c.QoSCgroup(pod); got != want {
			t.Errorf("QoSCgroup(%q) = %q, want %q", pod, got, want)
		}
	}
}

// TestQoSCgroupsLegacy checks that the agent does not set the cpusets of QoS classes in cgroup v1.
// There, the kernel would refuse to take a CPU from such a cpuset while a container below has it.
func TestQoSCgroupsLegacy(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "cpuset/kubepods/burstable/pod1"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{Root: root})
	if got := c.QoSCgroups(); len(got) > 0 {
		t.Errorf("QoSCgroups() = %v, want none", got)
	}
	if got := c.QoSCgroup("/kubepods/burstable/pod1"); got != "" {
		t.Errorf("QoSCgroup of a pod is %q, want none", got)
	}
}

func TestConfigured(t *testing.T) {
	v1, v2 := t.TempDir(), fake(t, map[string]string{"kubepods/unset/cpuset.cpus.effective": "0-1\n", "kubepods/c/cpuset.cpus.effective": "0-1\n"})
	for _, dir := range []string{filepath.Join(v1, "cpuset/kubepods/c"), filepath.Join(v2, "kubepods/c")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte("0-3\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		root, cgroup, want string
		err                error
	}{
		"v1":            {root: v1, cgroup: "/kubepods/c", want: "0-3"},
		"v2":            {root: v2, cgroup: "/kubepods/c", want: "0-3"},
		"v2, none set":  {root: v2, cgroup: "/kubepods/unset"},
		"v1, no cgroup": {root: v1, cgroup: "/kubepods/gone", err: ErrNotExist},
		"v2, no cgroup": {root: v2, cgroup: "/kubepods/gone", err: ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := open(t, Options{Root: tc.root}).Configured(tc.cgroup)
			if !errors.Is(err, tc.err) || got.String() != tc.want {
				t.Errorf("CPUs %q, %v; want %q, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// TestLimits checks that Limits returns true for the cgroup of a QoS class only while the CPUs of
// the cgroup are in force in the kernel, and systemd has acknowledged them.
func TestLimits(t *testing.T) {
	const class = "/kubepods.slice/kubepods-burstable.slice"
	effective := class + "/cpuset.cpus.effective"
	root := fake(t, map[string]string{effective: "0-3\n", class + "/cpuset.mems.effective": "0\n"})
	c := open(t, Options{Root: root, Units: &recorder{}})
	to := cpuset.MustParse("0-3")
	check := func(when string, to cpuset.Set, want bool) {
		t.Helper()
		if got := c.Limits(class, to); got != want {
			t.Errorf("%s: the cgroup limits its pods to %s: %v, want %v", when, to, got, want)
		}
	}
	check("at the start", to, false)
	if err := c.Confine(t.Context(), class, workload.Decision{CPUs: to}); err != nil {
		t.Fatal(err)
	}
	check("before systemd knows the CPUs", to, false)
	if err := c.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("when systemd knows the CPUs", to, true)
	check("when systemd knows the CPUs", cpuset.MustParse("0-4"), true)
	check("when systemd knows the CPUs", cpuset.MustParse("0-2"), false)
	if c.Limits("", to) || c.Limits("/kubepods.slice/gone.slice", to) {
		t.Error("a missing cgroup limits pods")
	}
	if err := os.WriteFile(filepath.Join(root, effective), []byte("0-7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("when another process has changed the cgroup", to, false)
}
