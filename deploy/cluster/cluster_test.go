// Package cluster tests the manifests beside it.
package cluster

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestWorkWithController reads the patch over deploy/daemonset as both programs
// read their environment.
func TestWorkWithController(t *testing.T) {
	patch, base := read(t, "agent.yaml"), read(t, "../daemonset/daemonset.yaml")
	if patch.Name != base.Name {
		t.Errorf("patches %s, want %s", patch.Name, base.Name)
	}
	over, under := patch.Spec.Template.Spec.Containers, base.Spec.Template.Spec.Containers
	for i := range over {
		if over[i].Name != under[i].Name {
			t.Errorf("patches container %s, want %s", over[i].Name, under[i].Name)
		}
	}
	agent, err := config.LoadAgent(input(over[0]))
	if err != nil || !agent.Controller {
		t.Errorf("agent works with a controller: %v (%v), want true", agent.Controller, err)
	}
	plugin, err := config.LoadDevicePlugin(input(over[1]))
	if err != nil || !plugin.Controller {
		t.Errorf("device plugin works with a controller: %v (%v), want true", plugin.Controller, err)
	}
}

// input is the environment of a container.
func input(c corev1.Container) config.Input {
	return config.Input{LookupEnv: func(name string) (string, bool) {
		if name == c.Env[0].Name {
			return c.Env[0].Value, true
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
