package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// PodCgroup is the cgroup of a pod, as Cgroups.Pods finds it on the host.
type PodCgroup struct {
	Target     string // the argument for Confine, LiftQuota and PodEmpty
	UID        string // the pod's UID; for a static pod, the hash of its manifest
	Containers []ContainerCgroup
}

// ContainerCgroup is the cgroup of a container or of a pod's sandbox.
type ContainerCgroup struct {
	Target string // the argument for Confine
	ID     string // the ID that the container runtime gave to the container or sandbox
}

// Pods lists the cgroups of all pods below the kubelet's root cgroup, with the cgroups of their
// containers and sandboxes. It reads the directories of the root cgroup, of the QoS classes and of
// each pod.
func (c *Cgroups) Pods() ([]PodCgroup, error) {
	var found []PodCgroup
	for _, group := range c.podParents() {
		if err := c.scan(group, &found); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return found, nil
}

// Dirs returns the directories in which cgroups of pods and containers are created and
// removed: the kubelet's root cgroup, the cgroups of the QoS classes and the cgroups of the pods.
func (c *Cgroups) Dirs() ([]string, error) {
	var dirs []string
	for _, group := range c.podParents() {
		dirs = append(dirs, c.tree.dir(group))
	}
	pods, err := c.Pods()
	for _, pod := range pods {
		dirs = append(dirs, c.tree.dir(pod.Target))
	}
	return dirs, err
}

// podParents returns the cgroups in which the kubelet creates cgroups of pods: its root cgroup, and one
// cgroup for each QoS class below the root. It leaves out cgroups that do not exist.
func (c *Cgroups) podParents() []string {
	var groups []string
	for _, root := range kubeRoots() {
		for _, group := range []string{root, qosCgroup(root, "burstable"), qosCgroup(root, "besteffort")} {
			if _, err := os.Stat(c.tree.dir(group)); err == nil {
				groups = append(groups, group)
			}
		}
	}
	return groups
}

// kubeRoots returns the possible root cgroups of the kubelet. The first two are the kubelet's
// defaults with the cgroupfs driver and with the systemd driver. The last two are for
// --cgroup-root=/kubelet, which kind sets.
func kubeRoots() []string {
	return []string{"/kubepods", "/kubepods.slice", "/kubelet/kubepods", "/kubelet.slice/kubelet-kubepods.slice"}
}

// qosCgroup returns the cgroup of a QoS class below the kubelet's root cgroup. There is no cgroup
// for the class Guaranteed, because the cgroups of Guaranteed pods are directly in the root cgroup.
func qosCgroup(root, qos string) string {
	if slice, ok := strings.CutSuffix(path.Base(root), ".slice"); ok {
		return path.Join(root, slice+"-"+qos+".slice")
	}
	return path.Join(root, qos)
}

func (c *Cgroups) scan(group string, found *[]PodCgroup) error {
	entries, err := os.ReadDir(c.tree.dir(group))
	if err != nil {
		return err
	}
	for _, e := range entries {
		uid, ok := podUID(e.Name())
		if !e.IsDir() || !ok {
			continue
		}
		pod := PodCgroup{Target: path.Join(group, e.Name()), UID: uid}
		if err := c.scanPod(&pod); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		*found = append(*found, pod)
	}
	return nil
}

func (c *Cgroups) scanPod(pod *PodCgroup) error {
	entries, err := os.ReadDir(c.tree.dir(pod.Target))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if id, ok := containerID(e.Name()); e.IsDir() && ok {
			pod.Containers = append(pod.Containers, ContainerCgroup{Target: path.Join(pod.Target, e.Name()), ID: id})
		}
	}
	return nil
}

// podUID returns the UID in the name of a pod's cgroup, "pod<uid>" or
// "kubepods-burstable-pod<uid>.slice". In the second form, the kubelet replaces the dashes of the
// UID by underscores.
func podUID(name string) (string, bool) {
	if slice, ok := strings.CutSuffix(name, ".slice"); ok {
		_, uid, ok := strings.Cut(slice, "-pod")
		return strings.ReplaceAll(uid, "_", "-"), ok
	}
	return strings.CutPrefix(name, "pod")
}

// containerID returns the ID in the name of a container's cgroup: "<id>",
// "cri-containerd-<id>.scope" or "crio-<id>.scope". An ID is 64 hexadecimal digits. CRI-O's
// "crio-conmon-<id>.scope" is the cgroup of a monitor process, not of a container.
func containerID(name string) (string, bool) {
	if scope, ok := strings.CutSuffix(name, ".scope"); ok && !strings.HasPrefix(name, "crio-conmon-") {
		name = scope[strings.LastIndex(scope, "-")+1:]
	}
	return name, len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}
