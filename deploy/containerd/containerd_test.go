// Package containerd tests the manifests in its directory, which install numalet-containerd.
package containerd

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/containerdconf"
)

func manifest(t *testing.T) corev1.PodTemplateSpec {
	t.Helper()
	text, err := os.ReadFile("installer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ds appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(text, &ds); err != nil {
		t.Fatal(err)
	}
	return ds.Spec.Template
}

// TestSettingsAreAccepted checks that numalet-containerd accepts the settings in the manifest,
// and that they agree with the mounts and probes of the pod.
func TestSettingsAreAccepted(t *testing.T) {
	pod := manifest(t)
	c := pod.Spec.Containers[0]
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil {
			env[e.Name] = e.ValueFrom.FieldRef.FieldPath
		}
	}
	cfg, err := config.LoadContainerd(config.Input{Args: c.Command[1:], Out: &bytes.Buffer{}, LookupEnv: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Undo || cfg.PodUID != "metadata.uid" || cfg.NodeName != "spec.nodeName" {
		t.Errorf("undo %t, pod UID from %s, node from %s", cfg.Undo, cfg.PodUID, cfg.NodeName)
	}
	if probe := c.ReadinessProbe.HTTPGet; probe.Host+":"+probe.Port.String() != cfg.HealthAddr {
		t.Errorf("probed at %s:%s, and serves at %s", probe.Host, probe.Port.String(), cfg.HealthAddr)
	}
	if pod.Annotations[containerdconf.Annotation] != "true" {
		t.Errorf("annotations %v: the program could not start without the agent, to undo what it did", pod.Annotations)
	}
	if env["DBUS_SYSTEM_BUS_ADDRESS"] != "unix:path="+cfg.HostRoot+"/run/dbus/system_bus_socket" {
		t.Errorf("the system bus is %s", env["DBUS_SYSTEM_BUS_ADDRESS"])
	}
}

// TestLeastPrivilege checks that the container of numalet-containerd has no more privileges
// and writable mounts than it needs.
func TestLeastPrivilege(t *testing.T) {
	spec := manifest(t).Spec
	no, yes := false, true
	want := &corev1.SecurityContext{
		Privileged: &no, AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
		Capabilities:    &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"SYS_CHROOT"}},
		AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined},
	}
	if diff := cmp.Diff(want, spec.Containers[0].SecurityContext); diff != "" || spec.HostPID || spec.HostIPC {
		t.Errorf("hostPID %t, hostIPC %t (-want +got):\n%s", spec.HostPID, spec.HostIPC, diff)
	}
	var writable []string
	for _, m := range spec.Containers[0].VolumeMounts {
		if !m.ReadOnly {
			writable = append(writable, m.MountPath)
		}
	}
	slices.Sort(writable)
	if diff := cmp.Diff([]string{"/host/etc/containerd", "/host/var/lib/numalet/containerd"}, writable); diff != "" {
		t.Errorf("writable mounts (-want +got):\n%s", diff)
	}
}
