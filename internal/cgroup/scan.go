package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Container is a container's cgroup as found on the host.
type Container struct {
	Target string // for Confine
	Pod    string // for LiftQuota and PodEmpty
	PodUID string // of a static pod, the hash of its manifest
	ID     string // the runtime's id, of a container or of a pod's sandbox
}

// Containers lists the cgroups of all containers and pod sandboxes that the
// kubelet's tree holds. O(cgroups).
func (c *Cgroups) Containers() ([]Container, error) {
	var found []Container
	for _, root := range kubeRoots() {
		err := c.scan(root, &found)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return found, nil
}

// kubeRoots are the kubelet's cgroups: of the cgroupfs and of the systemd
// driver, plain and under --cgroup-root=/kubelet, as kind sets it.
func kubeRoots() []string {
	return []string{"/kubepods", "/kubepods.slice", "/kubelet/kubepods", "/kubelet.slice/kubelet-kubepods.slice"}
}

// scan walks down to pods through the levels of the QoS classes.
func (c *Cgroups) scan(group string, found *[]Container) error {
	entries, err := os.ReadDir(c.tree.dir(group))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		child := path.Join(group, e.Name())
		uid, isPod := podUID(e.Name())
		if isPod {
			err = c.scanPod(child, uid, found)
		} else if isQoS(e.Name()) {
			err = c.scan(child, found)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (c *Cgroups) scanPod(pod, uid string, found *[]Container) error {
	entries, err := os.ReadDir(c.tree.dir(pod))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if id, ok := containerID(e.Name()); e.IsDir() && ok {
			*found = append(*found, Container{Target: path.Join(pod, e.Name()), Pod: pod, PodUID: uid, ID: id})
		}
	}
	return nil
}

// podUID reads "pod<uid>" or "kubepods-burstable-pod<uid>.slice", in which the
// kubelet writes the dashes of the UID as underscores.
func podUID(name string) (string, bool) {
	if slice, ok := strings.CutSuffix(name, ".slice"); ok {
		_, uid, ok := strings.Cut(slice, "-pod")
		return strings.ReplaceAll(uid, "_", "-"), ok
	}
	return strings.CutPrefix(name, "pod")
}

func isQoS(name string) bool {
	name = strings.TrimSuffix(name, ".slice")
	return strings.HasSuffix(name, "burstable") || strings.HasSuffix(name, "besteffort")
}

// containerID reads "<id>", "cri-containerd-<id>.scope" or "crio-<id>.scope";
// ids are 64 hexadecimal digits. CRI-O's "crio-conmon-<id>.scope" is no container.
func containerID(name string) (string, bool) {
	if scope, ok := strings.CutSuffix(name, ".scope"); ok && !strings.HasPrefix(name, "crio-conmon-") {
		name = scope[strings.LastIndex(scope, "-")+1:]
	}
	return name, len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}
