package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// fake creates a directory with plain files that looks like a cgroup v2 tree. The parameter `files`
// maps paths to contents. A test must also give the contents of files such as
// cpuset.cpus.effective, which no kernel updates here.
func fake(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["cgroup.controllers"] = "cpuset cpu\n"
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "cpuset.cpus.effective" {
			addCPUSet(t, filepath.Dir(path))
		}
	}
	return root
}

// addCPUSet creates the files of a cgroup that the kernel creates together with
// cpuset.cpus.effective.
func addCPUSet(t *testing.T, dir string) {
	t.Helper()
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, o Options) *Cgroups {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// exactly returns the decision for a container with these exclusive CPUs.
func exactly(cpus cpuset.Set, mems ...topology.NodeID) workload.Decision {
	return workload.Decision{CPUs: cpus, Mems: mems, Exclusive: true}
}

const inForce = "kubepods/pod1/c1/cpuset.cpus.effective"

func TestConfineUnified(t *testing.T) {
	for name, tc := range map[string]struct {
		files   map[string]string
		target  string
		cpus    string
		mems    []topology.NodeID
		shared  bool
		wantErr string // part of the error's message; "" for no error
		gone    bool
	}{
		"cpus": {
			files: map[string]string{inForce: "4-7\n"},
			cpus:  "4-7",
		},
		"cpus and memory": {
			files: map[string]string{inForce: "4-7\n", "kubepods/pod1/c1/cpuset.mems.effective": "0,8\n"},
			cpus:  "4-7", mems: []topology.NodeID{8, 0},
		},
		"nothing": {
			files: map[string]string{inForce: "0-7\n"},
			cpus:  "", wantErr: "the set of CPUs is empty",
		},
		"narrowed by a parent": {
			files: map[string]string{inForce: "4-5\n"},
			cpus:  "4-7", wantErr: "the kernel has CPUs 4-5 in force; a parent cgroup lacks the others",
		},
		"shared, narrowed by a parent": {
			files: map[string]string{inForce: "4-5\n"},
			cpus:  "4-7", shared: true,
		},
		"shared, the parent has none of them": {
			files: map[string]string{inForce: "0-3\n"},
			cpus:  "4-7", shared: true, wantErr: "the kernel has CPUs 0-3 in force",
		},
		"memory narrowed by a parent": {
			files: map[string]string{inForce: "4-7\n"},
			cpus:  "4-7", mems: []topology.NodeID{2}, wantErr: "memory of NUMA nodes 2: the kernel has 0-3 in force",
		},
		"no cgroup": {
			files:  map[string]string{},
			target: "/kubepods/pod1/c2",
			cpus:   "4-7", wantErr: "container has no cgroup", gone: true,
		},
		"not a target": {
			files:  map[string]string{},
			target: "a.slice:b",
			cpus:   "4-7", wantErr: "not of the form slice:prefix:name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.target == "" {
				tc.target = "/kubepods/pod1/c1"
			}
			if _, ok := tc.files["kubepods/pod1/c1/cpuset.mems.effective"]; !ok {
				tc.files["kubepods/pod1/c1/cpuset.mems.effective"] = "0-3\n"
			}
			root := fake(t, tc.files)
			d := workload.Decision{CPUs: cpuset.MustParse(tc.cpus), Mems: tc.mems, Exclusive: !tc.shared}
			err := open(t, Options{Root: root}).Confine(t.Context(), tc.target, d)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("Confine = %v, want an error with %q", err, tc.wantErr)
				}
				if errors.Is(err, ErrNotExist) != tc.gone || errors.Is(err, fs.ErrNotExist) != tc.gone {
					t.Errorf("Confine = %v, want ErrNotExist = %v", err, tc.gone)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, root, "kubepods/pod1/c1/cpuset.cpus"); got != tc.cpus {
				t.Errorf("cpuset.cpus = %q, want %q", got, tc.cpus)
			}
		})
	}
}

// TestConfineWithoutController checks that Confine enables the cpuset controller above a cgroup that
// has no cpuset, and that it writes no file that does not exist. The kernel creates the files of a
// cgroup when the controller is enabled, and refuses to create a file that a program opens with
// O_CREAT. The fake creates no files, so Confine must return an error.
func TestConfineWithoutController(t *testing.T) {
	root := fake(t, map[string]string{
		"cgroup.subtree_control":               "",
		"kubepods/cgroup.subtree_control":      "",
		"kubepods/pod1/cgroup.subtree_control": "",
		"kubepods/pod1/c1/cgroup.procs":        "1\n",
	})
	err := open(t, Options{Root: root}).Confine(t.Context(), "/kubepods/pod1/c1", exactly(cpuset.Of(1)))
	if err == nil {
		t.Error("Confine of a cgroup without a cpuset succeeded")
	}
	for _, above := range []string{"", "kubepods", "kubepods/pod1"} {
		if got := read(t, root, above, "cgroup.subtree_control"); got != "+cpuset" {
			t.Errorf("cgroup.subtree_control of /%s = %q, want +cpuset", above, got)
		}
	}
	for _, group := range []string{"kubepods/pod1/c1", "kubepods/pod1"} {
		if _, err := os.Stat(filepath.Join(root, group, "cpuset.cpus")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Confine created cpuset.cpus of %s (stat: %v)", group, err)
		}
	}
}

func TestEffective(t *testing.T) {
	root := fake(t, map[string]string{"a/cpuset.cpus.effective": "0-3,8\n", "a/cpuset.mems.effective": "1\n"})
	cpus, mems, err := open(t, Options{Root: root}).Effective("/a")
	if err != nil || cpus.String() != "0-3,8" {
		t.Errorf("Effective = %v, %v; want 0-3,8", cpus, err)
	}
	if diff := cmp.Diff([]topology.NodeID{1}, mems); diff != "" {
		t.Errorf("mems (-want +got):\n%s", diff)
	}
}

func TestLiftQuotaUnified(t *testing.T) {
	for before, after := range map[string]string{
		"400000 100000": "max",
		"max 100000":    "max 100000", // nothing is written
	} {
		root := fake(t, map[string]string{"kubepods/pod1/cpu.max": before})
		if err := open(t, Options{Root: root}).LiftQuota(t.Context(), "/kubepods/pod1"); err != nil {
			t.Fatal(err)
		}
		if got := read(t, root, "kubepods/pod1/cpu.max"); got != after {
			t.Errorf("cpu.max %q becomes %q, want %q", before, got, after)
		}
	}
}

func TestPodEmptyUnified(t *testing.T) {
	root := fake(t, map[string]string{
		"kubepods/pod1/cgroup.events": "populated 1\nfrozen 0\n",
		"kubepods/pod2/cgroup.events": "populated 0\nfrozen 0\n",
	})
	cgroups := open(t, Options{Root: root})
	for pod, want := range map[string]bool{"/kubepods/pod1": false, "/kubepods/pod2": true, "/kubepods/pod3": true} {
		if got, err := cgroups.PodEmpty(pod); err != nil || got != want {
			t.Errorf("PodEmpty(%s) = %v, %v; want %v", pod, got, err, want)
		}
	}
}

func TestPodExists(t *testing.T) {
	cgroups := open(t, Options{Root: fake(t, map[string]string{"kubepods/pod1/cgroup.procs": ""})})
	for pod, want := range map[string]bool{"/kubepods/pod1": true, "/kubepods/pod2": false} {
		if got, err := cgroups.PodExists(pod); err != nil || got != want {
			t.Errorf("PodExists(%s) = %v, %v; want %v", pod, got, err, want)
		}
	}
	if _, err := cgroups.PodExists(""); err == nil {
		t.Error("PodExists of no target succeeded")
	}
}

func TestNewWithoutCgroups(t *testing.T) {
	if _, err := New(Options{Root: t.TempDir()}); err == nil {
		t.Error("New found cgroups in an empty directory")
	}
}

// TestKubeletCPUs checks that KubeletCPUs finds the kubelet's root cgroup, and returns its CPUs.
func TestKubeletCPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
		none  bool
	}{
		"cgroupfs":  {files: map[string]string{"kubepods/cpuset.cpus.effective": "0-5\n", "kubepods/cpuset.mems.effective": "0\n"}, want: "0-5 in /kubepods"},
		"kind":      {files: map[string]string{"kubelet.slice/kubelet-kubepods.slice/cpuset.cpus.effective": "1\n", "kubelet.slice/kubelet-kubepods.slice/cpuset.mems.effective": "0\n"}, want: "1 in /kubelet.slice/kubelet-kubepods.slice"},
		"no cpuset": {files: map[string]string{"kubepods/cgroup.procs": ""}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			cpus, group, err := open(t, Options{Root: fake(t, tc.files)}).KubeletCPUs()
			if errors.Is(err, fs.ErrNotExist) != tc.none {
				t.Fatalf("KubeletCPUs = %v, want none %v", err, tc.none)
			}
			if got := cpus.String() + " in " + group; err == nil && got != tc.want {
				t.Errorf("KubeletCPUs = %s, want %s", got, tc.want)
			}
		})
	}
}
