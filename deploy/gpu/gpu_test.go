// Package gpu tests the manifests beside it.
package gpu

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestAllMeetAtOneSocket reads the patch over deploy/daemonset as the three
// programs read their settings.
func TestAllMeetAtOneSocket(t *testing.T) {
	patch := read(t)
	containers := map[string]corev1.Container{}
	for _, c := range patch.Spec.Template.Spec.Containers {
		containers[c.Name] = c
	}
	nvml, err := config.LoadNVML(input(containers["nvml"]))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := config.LoadAgent(input(containers["agent"]))
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := config.LoadDevicePlugin(input(containers["deviceplugin"]))
	if err != nil {
		t.Fatal(err)
	}
	if agent.GPUSocket != nvml.GPUSocket || plugin.GPUSocket != nvml.GPUSocket {
		t.Errorf("the GPUs are told at %q, and listened for at %q and %q", nvml.GPUSocket, agent.GPUSocket, plugin.GPUSocket)
	}
	if get := containers["nvml"].LivenessProbe.HTTPGet; nvml.HealthAddr != get.Host+":"+get.Port.String() {
		t.Errorf("probed at %s:%s, serves at %s", get.Host, get.Port.String(), nvml.HealthAddr)
	}
}

// TestSpecificationsReachTheHost follows the default of --gpu-cdi-dir to the
// host's directory, which is containerd's default.
func TestSpecificationsReachTheHost(t *testing.T) {
	pod := read(t).Spec.Template.Spec
	sources := map[string]string{}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			sources[v.Name] = v.HostPath.Path
		}
	}
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			if m.MountPath != "/var/run/cdi" {
				continue
			}
			cfg, err := config.LoadNVML(input(c))
			if err != nil || cfg.CDIDir != m.MountPath || sources[m.Name] != "/var/run/cdi" || m.ReadOnly {
				t.Errorf("written to %s, %v: mounted at %s from the host's %s", cfg.CDIDir, err, m.MountPath, sources[m.Name])
			}
			return
		}
	}
	t.Error("no container has the directory of CDI specifications")
}

// input is what the kubelet would start the container with, but without the
// shared file of settings.
func input(c corev1.Container) config.Input {
	var args []string
	if len(c.Command) > 2 {
		args = c.Command[2:]
	}
	return config.Input{Args: args, LookupEnv: func(name string) (string, bool) {
		for _, e := range c.Env {
			if e.Name == name {
				return e.Value, true
			}
		}
		return "worker-1", name == "NODE_NAME"
	}}
}

func read(t *testing.T) (d appsv1.DaemonSet) {
	t.Helper()
	data, err := os.ReadFile("nvml.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}
