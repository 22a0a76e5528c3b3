// Package cluster tests the manifests beside it.
package cluster

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/config"
)

// TestAgentWorksWithController reads the patch over deploy/daemonset as the
// agent reads its environment.
func TestAgentWorksWithController(t *testing.T) {
	patch, base := read(t, "agent.yaml"), read(t, "../daemonset/daemonset.yaml")
	over, under := patch.Spec.Template.Spec.Containers[0], base.Spec.Template.Spec.Containers[0]
	if patch.Name != base.Name || over.Name != under.Name {
		t.Errorf("patches %s/%s, want %s/%s", patch.Name, over.Name, base.Name, under.Name)
	}
	cfg, err := config.LoadAgent(config.Input{LookupEnv: func(name string) (string, bool) {
		if name == over.Env[0].Name {
			return over.Env[0].Value, true
		}
		return "worker-1", name == "NODE_NAME"
	}})
	if err != nil || !cfg.Controller {
		t.Errorf("controller: %v (%v), want true", cfg.Controller, err)
	}
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
