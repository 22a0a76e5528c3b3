package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
)

// roleVariable is the environment variable that says whether a test's container has shared or
// exclusive CPUs. Until the container's program runs, the container's cgroup contains processes of
// runc, which do not have the variable. So until then, the role of the container is unknown.
const roleVariable = "NUMALET_ROLE="

type role int

const (
	unknownRole role = iota // none of the other roles, or not known yet
	sandboxRole             // a pod's pause process, which only sleeps
	sharedRole
	exclusiveRole
)

func (r role) String() string { return [...]string{"unknown", "sandbox", "shared", "exclusive"}[r] }

// cpulist is the content of the file cpuset.cpus.effective of a container's cgroup, such as
// "0-3,8". It lists the CPUs that the cgroup may use.
type cpulist string

func (l cpulist) overlaps(other cpulist) bool {
	a, errA := cpuset.Parse(string(l))
	b, errB := cpuset.Parse(string(other))
	return errA == nil && errB == nil && a.Overlaps(b)
}

// tree is a cgroup v2 hierarchy.
type tree struct{ root string }

// containers returns the cgroups of all containers, as paths relative to the root of the hierarchy.
func (t tree) containers() []string {
	var leaves []string
	pods, err := filepath.Glob(filepath.Join(t.root, "kubepods*"))
	if err != nil {
		return nil
	}
	for _, dir := range pods {
		// A cgroup that vanishes during the walk belongs to a container that has ended. This is no
		// error.
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { //nolint:errcheck // see above
			if err == nil && d.IsDir() && isContainer(d.Name()) {
				leaves = append(leaves, strings.TrimPrefix(path, t.root))
				return fs.SkipDir
			}
			return nil
		})
	}
	return leaves
}

// isContainer reports whether a cgroup is that of a container: "<64 hex>" (cgroupfs driver),
// "cri-containerd-<64 hex>.scope" (systemd driver) or "crio-<64 hex>.scope" (systemd driver, CRI-O).
func isContainer(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "cri-containerd-"), "crio-")
	name = strings.TrimSuffix(name, ".scope")
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// effective returns the CPUs that the processes in a cgroup may use. It returns false if the cgroup
// has no process.
func (t tree) effective(path string) (cpulist, bool) {
	events, err := os.ReadFile(filepath.Join(t.root, path, "cgroup.events"))
	if err != nil || !bytes.Contains(events, []byte("populated 1")) {
		return "", false
	}
	list, err := os.ReadFile(filepath.Join(t.root, path, "cpuset.cpus.effective"))
	if err != nil {
		return "", false
	}
	return cpulist(bytes.TrimSpace(list)), true
}

// role returns the role of a container: sandbox, shared or exclusive. It derives the role from the
// name or the environment of the first process in the container's cgroup.
func (t tree) role(path string) role {
	procs, err := os.ReadFile(filepath.Join(t.root, path, "cgroup.procs"))
	pid, _, _ := strings.Cut(string(procs), "\n")
	if err != nil || pid == "" {
		return unknownRole
	}
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%s/comm", pid)); err == nil && string(comm) == "pause\n" {
		return sandboxRole
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%s/environ", pid))
	if err != nil {
		return unknownRole
	}
	for value := range strings.SplitSeq(string(env), "\x00") {
		switch value {
		case roleVariable + "exclusive":
			return exclusiveRole
		case roleVariable + "shared":
			return sharedRole
		}
	}
	return unknownRole
}
