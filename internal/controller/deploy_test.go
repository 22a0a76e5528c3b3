package controller

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

const manifests = "../../deploy/controller/"

// documents returns the YAML documents of a manifest.
func documents(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(manifests + file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(data, []byte("\n---\n"))
}

// TestRoleCoversWhatIsDone checks that the roles in rbac.yaml of the deployment allow the requests
// for built-in resources that the controller sends in a short run.
func TestRoleCoversWhatIsDone(t *testing.T) {
	var role rbacv1.ClusterRole
	var own rbacv1.Role // the role for the controller's own namespace
	documents := documents(t, "rbac.yaml")
	if err := errors.Join(yaml.UnmarshalStrict(documents[1], &role), yaml.UnmarshalStrict(documents[3], &own)); err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	for _, rule := range slices.Concat(role.Rules, own.Rules) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				granted[strings.Join([]string{verb, rule.APIGroups[0], resource}, " ")] = true
			}
		}
	}
	w := newWorld(t)
	w.node("n1", 1)
	w.start()
	before := len(w.client.Actions())
	w.pod("a", "1", "single")
	w.pod("b", "9", "single")
	w.await("one is bound, the other refused", func() bool { return len(w.bound()) == 1 && w.unscheduled("b") != "" })
	for i, action := range w.client.Actions() {
		resource := action.GetResource().Resource
		if sub := action.GetSubresource(); sub != "" {
			resource += "/" + sub
		}
		own := i >= before && resource == "pods" // the test itself uses the same client, so after the start a request for pods may come from the test
		if text := strings.Join([]string{action.GetVerb(), action.GetResource().Group, resource}, " "); !granted[text] && !own && text != "create  nodes" {
			t.Errorf("%s is not granted", text)
		}
	}
}

// TestDeployment checks that the controller accepts the flags in deployment.yaml, and that the
// probes in deployment.yaml use the port on which the controller serves them.
func TestDeployment(t *testing.T) {
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(documents(t, "deployment.yaml")[0], &d); err != nil {
		t.Fatal(err)
	}
	c := d.Spec.Template.Spec.Containers[0]
	cfg, err := config.LoadController(config.Input{
		Args:      c.Command[1:],
		LookupEnv: func(name string) (string, bool) { return "numalet-system", name == c.Env[0].Name },
	})
	if err != nil || cfg.LeaseNS != "numalet-system" {
		t.Fatalf("settings: %+v, %v", cfg, err)
	}
	if port := c.Ports[0]; cfg.HealthAddr != ":8125" || port.ContainerPort != 8125 || port.Name != c.LivenessProbe.HTTPGet.Port.StrVal {
		t.Errorf("probed at %v, served at %s", port, cfg.HealthAddr)
	}
	if port := c.Ports[1]; cfg.MetricsAddr != ":8443" || port.ContainerPort != 8443 || !cfg.MetricsSecure {
		t.Errorf("port of metrics %v, served at %s, only to authorized users: %v", port, cfg.MetricsAddr, cfg.MetricsSecure)
	}
	if *d.Spec.Replicas != 2 || d.Spec.Template.Spec.SchedulerName == cfg.SchedulerName {
		t.Errorf("%d replicas, scheduled by %s", *d.Spec.Replicas, d.Spec.Template.Spec.SchedulerName)
	}
}

// TestProfiles checks that the controller accepts the example configuration in
// deploy/controller/profiles.
func TestProfiles(t *testing.T) {
	cfg, err := config.LoadController(config.Input{Args: []string{"--config=" + manifests + "profiles/config.yaml"}, LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	read, err := configuration(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{cfg.SchedulerName}, read.SchedulerNames()); diff != "" {
		t.Errorf("scheduler names (-want +got):\n%s", diff)
	}
}
