// Package gpu tests the manifests in its directory, which install numalet-nvml.
package gpu

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestAllMeetAtOneSocket checks that numalet-nvml, the agent and the device plugin use the same
// socket, according to their settings in the two manifests.
func TestAllMeetAtOneSocket(t *testing.T) {
	clients, server := read(t, "clients.yaml"), read(t, "nvml.yaml")
	nvml, err := config.LoadNVML(input(container(t, server, "nvml")))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := config.LoadAgent(input(container(t, clients, "agent")))
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := config.LoadDevicePlugin(input(container(t, clients, "deviceplugin")))
	if err != nil {
		t.Fatal(err)
	}
	want := onHost(t, server, "nvml", nvml.GPUSocket)
	for name, socket := range map[string]string{"agent": agent.GPUSocket, "deviceplugin": plugin.GPUSocket} {
		if got := onHost(t, clients, name, socket); got != want {
			t.Errorf("%s listens at %s of the host, served is %s", name, got, want)
		}
	}
	if get := container(t, server, "nvml").LivenessProbe.HTTPGet; nvml.HealthAddr != get.Host+":"+get.Port.String() {
		t.Errorf("probed at %s:%s, serves at %s", get.Host, get.Port.String(), nvml.HealthAddr)
	}
}

// TestSpecificationsReachTheHost checks that numalet-nvml, with the default of --gpu-cdi-dir,
// writes CDI specifications to the host's /var/run/cdi. containerd reads them from there by
// default.
func TestSpecificationsReachTheHost(t *testing.T) {
	d := read(t, "nvml.yaml")
	cfg, err := config.LoadNVML(input(container(t, d, "nvml")))
	if err != nil {
		t.Fatal(err)
	}
	if got := onHost(t, d, "nvml", cfg.CDIDir+"/spec.json"); got != "/var/run/cdi/spec.json" {
		t.Errorf("specifications are written to %s of the host", got)
	}
}

// TestLeastPrivilege checks that the container of numalet-nvml has no more rights and mounts
// than it needs. The container is privileged, because it opens the device files of GPUs.
func TestLeastPrivilege(t *testing.T) {
	d := read(t, "nvml.yaml")
	pod, c := d.Spec.Template.Spec, container(t, d, "nvml")
	yes := true
	want := &corev1.SecurityContext{
		Privileged: &yes, ReadOnlyRootFilesystem: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"SYS_ADMIN"}},
	}
	if diff := cmp.Diff(want, c.SecurityContext); diff != "" {
		t.Errorf("security context (-want +got):\n%s", diff)
	}
	if pod.HostPID || pod.HostIPC || pod.ServiceAccountName != "" || *pod.AutomountServiceAccountToken {
		t.Error("it shares processes or has an account; want neither")
	}
	var writable, mounted []string
	for _, volume := range pod.Volumes {
		if volume.HostPath != nil {
			mounted = append(mounted, volume.HostPath.Path)
		}
	}
	for _, m := range c.VolumeMounts {
		if !m.ReadOnly {
			writable = append(writable, m.MountPath)
		}
	}
	if diff := cmp.Diff([]string{"/run/numalet", "/usr", "/dev", "/var/run/cdi"}, mounted); diff != "" {
		t.Errorf("directories of the host (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/run/numalet", "/var/run/cdi"}, writable); diff != "" {
		t.Errorf("writable directories (-want +got):\n%s", diff)
	}
}

// onHost converts a path in one container of the DaemonSet to the path of the same file on the
// host. The parameter `name` is the name of the container.
func onHost(t *testing.T, d appsv1.DaemonSet, name, path string) string {
	t.Helper()
	for _, m := range container(t, d, name).VolumeMounts {
		if len(path) <= len(m.MountPath) || path[:len(m.MountPath)+1] != m.MountPath+"/" {
			continue
		}
		volumes := d.Spec.Template.Spec.Volumes
		if i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name }); i >= 0 && volumes[i].HostPath != nil {
			return volumes[i].HostPath.Path + path[len(m.MountPath):]
		}
	}
	t.Fatalf("%s of container %s is not on the host", path, name)
	return ""
}

func container(t *testing.T, d appsv1.DaemonSet, name string) corev1.Container {
	t.Helper()
	all := d.Spec.Template.Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("DaemonSet %s has no container %s", d.Name, name)
	}
	return all[i]
}

// input returns the arguments and the environment with which the kubelet would start a
// container. It leaves out the argument --config, because the file that it names is not in
// deploy/gpu.
func input(container corev1.Container) config.Input {
	var args []string
	if len(container.Command) > 2 {
		args = container.Command[2:]
	}
	return config.Input{Args: args, LookupEnv: func(name string) (string, bool) {
		for _, e := range container.Env {
			if e.Name == name {
				return e.Value, true
			}
		}
		return "worker-1", name == "NODE_NAME"
	}}
}

func read(t *testing.T, file string) (d appsv1.DaemonSet) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}
