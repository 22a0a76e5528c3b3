// Package cluster tests the manifests in its directory, which install the agents, the controller
// and their admission policies.
package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestWorkWithController checks that the patch of the DaemonSet sets both the agent and the device
// plugin to work with the controller. It loads the patched environment as these programs do.
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

// TestPoliciesAreInstalled checks that deploy/cluster installs the agents and the controller
// together with the admission policies that restrict them, and with the FlowSchemas for their
// requests.
func TestPoliciesAreInstalled(t *testing.T) {
	var k struct{ Resources []string }
	data, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &k); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"../crds", "../daemonset", "../controller", "../flowschemas", "../admission"} {
		if !slices.Contains(k.Resources, folder) {
			t.Errorf("deploy/cluster lacks %s", folder)
		}
	}
}

// TestPoliciesWriteTheScope checks that the rules of all admission policies have the scope that the
// API server would add. A tool that compares the cluster with the manifests, such as Argo CD,
// compares lists as a whole, and would show a difference.
func TestPoliciesWriteTheScope(t *testing.T) {
	rules := 0
	for _, file := range manifests(t, "..") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var policy admissionv1.ValidatingAdmissionPolicy                                                                  // a MutatingAdmissionPolicy has the same rules
			if err := yaml.Unmarshal([]byte(document), &policy); err != nil && !strings.Contains(file, "/chart/templates/") { // templates are not YAML
				t.Errorf("%s: %v", file, err)
			}
			if policy.Spec.MatchConstraints == nil {
				continue
			}
			for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
				rules++
				if rule.Scope == nil || *rule.Scope != admissionv1.AllScopes {
					t.Errorf("%s %s: a rule for %v has no scope", policy.Kind, policy.Name, rule.Resources)
				}
			}
		}
	}
	if rules < 20 {
		t.Errorf("found %d rules, want those of all policies", rules)
	}
}

// TestPoliciesInAnyNamespace checks that the admission policies recognize the service accounts of
// Numalet in any namespace, and with a namePrefix or nameSuffix of a kustomize overlay.
func TestPoliciesInAnyNamespace(t *testing.T) {
	files, err := filepath.Glob("../admission/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	account := regexp.MustCompile(`request\.userInfo\.username\.matches\('([^']+)'\)`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "numalet-system") {
			t.Errorf("%s names the namespace numalet-system, and means nothing in another one", file)
		}
		for _, m := range account.FindAllStringSubmatch(string(text), -1) {
			found++
			checkAccount(t, regexp.MustCompile(m[1]))
		}
	}
	if found != 11 {
		t.Errorf("%d policies recognize an account, want five of the agent, four of the controller, and those of bindings and of tenants", found)
	}
}

// TestOwnNodeComparesTheSpec checks the policy that lets the agent remove a taint from a Node. The
// policy must refuse changes of every other field of the Node's spec. It has to compare these
// fields one by one, because a CEL expression cannot compare two objects and leave out one field,
// here the taints.
func TestOwnNodeComparesTheSpec(t *testing.T) {
	text, err := os.ReadFile("../admission/own-node.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for field := range reflect.TypeFor[corev1.NodeSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "taints" && !strings.Contains(string(text), fmt.Sprintf("object.spec.?%s == oldObject.spec.?%[1]s", name)) {
			t.Errorf("the policy numalet-own-node does not compare spec.%s", name)
		}
	}
}

// TestSubjectsFollowTheNamespace checks that each role binding has the name and the namespace of a
// service account that is in the same file. Only then does kustomize change the namespace of both
// in an overlay with another namespace.
func TestSubjectsFollowTheNamespace(t *testing.T) {
	type object struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Subjects []struct{ Name, Namespace string }
	}
	for _, file := range []string{"../daemonset/rbac.yaml", "../controller/rbac.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		accounts, subjects := map[string]string{}, 0
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			var o object
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				t.Fatal(err)
			}
			if o.Kind == "ServiceAccount" {
				accounts[o.Metadata.Name] = o.Metadata.Namespace
			}
			for _, s := range o.Subjects {
				subjects++
				if namespace, defined := accounts[s.Name]; !defined || namespace != s.Namespace {
					t.Errorf("%s binds %s/%s, and defines accounts %v", file, s.Namespace, s.Name, accounts)
				}
			}
		}
		if subjects == 0 {
			t.Errorf("%s binds nobody", file)
		}
	}
}

// checkAccount checks a regular expression that must match the user names of one service account,
// numalet-agent or numalet-controller. The account can be in any namespace, and its name can have a
// prefix and a suffix. The regular expression must match no other user names.
func checkAccount(t *testing.T, e *regexp.Regexp) {
	t.Helper()
	name := "numalet-agent"
	if strings.Contains(e.String(), "controller") {
		name = "numalet-controller"
	}
	for user, want := range map[string]bool{
		"system:serviceaccount:numalet-system:" + name:         true,
		"system:serviceaccount:another:" + name:                true,
		"system:serviceaccount:another:east-" + name + "-blue": true,
		"system:serviceaccount:another:default":                false,
		"system:serviceaccount:" + name + ":default":           false,
		name:                  false,
		"system:node:" + name: false,
	} {
		if got := e.MatchString(user); got != want {
			t.Errorf("%s matches %s: %v, want %v", e, user, got, want)
		}
	}
}

// input returns a config.Input with the environment of a container.
func input(container corev1.Container) config.Input {
	return config.Input{LookupEnv: func(name string) (string, bool) {
		if name == container.Env[0].Name {
			return container.Env[0].Value, true
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
