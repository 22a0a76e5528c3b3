// Package daemonset tests the manifests in its directory, which install the agent and the
// device plugin.
package daemonset

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestSettingsAreAccepted checks that the agent and the device plugin accept their settings
// in the manifests. It loads the arguments, the environment variables and the configuration file as
// these programs do, but does not start the programs.
func TestSettingsAreAccepted(t *testing.T) {
	pod := manifest(t).Spec.Template.Spec
	agent, err := config.LoadAgent(input(pod.Containers[0]))
	if err != nil {
		t.Fatalf("agent: %v", err)
	}
	plugin, err := config.LoadDevicePlugin(input(pod.Containers[1]))
	if err != nil {
		t.Fatalf("device plugin: %v", err)
	}
	for _, c := range []struct {
		container corev1.Container
		address   string
	}{{pod.Containers[0], agent.HealthAddr}, {pod.Containers[1], plugin.HealthAddr}} {
		get := c.container.LivenessProbe.HTTPGet
		if probed := get.Host + ":" + get.Port.String(); probed != c.address {
			t.Errorf("%s is probed at %s and serves at %s", c.container.Name, probed, c.address)
		}
	}
}

// input returns the arguments and the environment with which the kubelet would start a
// container.
func input(container corev1.Container) config.Input {
	var args []string
	for _, arg := range container.Command[1:] {
		args = append(args, strings.Replace(arg, "/etc/numalet/", "", 1))
	}
	env := map[string]string{}
	for _, e := range container.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil {
			env[e.Name] = "worker-1"
		}
	}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	return config.Input{Args: args, LookupEnv: lookup, Out: &bytes.Buffer{}}
}

func TestLeastPrivilege(t *testing.T) {
	pod := manifest(t).Spec.Template.Spec
	if pod.HostPID || pod.HostIPC || *pod.AutomountServiceAccountToken {
		t.Errorf("hostPID %v, hostIPC %v, token in every container %v; want none", pod.HostPID, pod.HostIPC, *pod.AutomountServiceAccountToken)
	}
	no, yes := false, true
	// The default AppArmor profile denies D-Bus. Only the agent needs D-Bus, to call
	// systemd.
	profiles := map[string]*corev1.AppArmorProfile{"agent": {Type: corev1.AppArmorProfileTypeUnconfined}}
	for _, container := range pod.Containers {
		want := &corev1.SecurityContext{
			Privileged: &no, AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities:    &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			AppArmorProfile: profiles[container.Name],
		}
		if diff := cmp.Diff(want, container.SecurityContext); diff != "" {
			t.Errorf("%s (-want +got):\n%s", container.Name, diff)
		}
	}
}

func TestWritableMounts(t *testing.T) {
	want := map[string][]string{
		"agent":        {"/sys/fs/cgroup", "/var/lib/numalet"},
		"deviceplugin": {"/var/lib/kubelet/device-plugins"},
	}
	got := map[string][]string{}
	for _, container := range manifest(t).Spec.Template.Spec.Containers {
		for _, m := range container.VolumeMounts {
			if !m.ReadOnly {
				got[container.Name] = append(got[container.Name], m.MountPath)
			}
		}
		slices.Sort(got[container.Name])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writable mounts (-want +got):\n%s", diff)
	}
}

func manifest(t *testing.T) appsv1.DaemonSet {
	t.Helper()
	data, err := os.ReadFile("daemonset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ds appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(data, &ds); err != nil {
		t.Fatal(err)
	}
	return ds
}
