// Package isolation tests the manifest in its directory, which lets the agent keep interrupts,
// unbound workqueues and other processes off exclusive CPUs.
package isolation

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestAgentWritesWhatIsMounted checks that the manifest mounts the files that the agent writes, that
// these mounts are not read-only, and that the agent gets only the capability that it needs. It
// loads the manifest's settings as the agent does.
func TestAgentWritesWhatIsMounted(t *testing.T) {
	var base, patch appsv1.DaemonSet
	read(t, "../daemonset/daemonset.yaml", &base)
	read(t, "agent.yaml", &patch)
	agent, added := base.Spec.Template.Spec.Containers[0], patch.Spec.Template.Spec.Containers[0]
	cfg, err := config.LoadAgent(config.Input{Args: []string{agent.Command[2], "--node-name=n"}, LookupEnv: func(name string) (string, bool) {
		for _, e := range added.Env {
			if e.Name == name {
				return e.Value, true
			}
		}
		return "", false
	}})
	if err != nil || !cfg.Isolation {
		t.Fatalf("isolation is %t: %v", cfg.Isolation, err)
	}
	for _, m := range added.VolumeMounts {
		if m.ReadOnly || m.MountPath != cfg.HostProc+"/irq" && m.MountPath != cfg.SysfsRoot+"sys/devices/virtual/workqueue" {
			t.Errorf("mounted %s, read only %t", m.MountPath, m.ReadOnly)
		}
		if !strings.HasPrefix(agent.Command[2], "--host-proc=") {
			t.Errorf("command %v, want --host-proc", agent.Command)
		}
	}
	want := corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}
	if diff := cmp.Diff(&corev1.SecurityContext{Capabilities: &want}, added.SecurityContext); diff != "" {
		t.Errorf("security context that is added (-want +got):\n%s", diff)
	}
	if len(added.VolumeMounts) != 2 {
		t.Errorf("%d mounts, want those of interrupts and workqueues", len(added.VolumeMounts))
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}
