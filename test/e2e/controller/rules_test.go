//go:build e2e

package controller

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/test/hollowcluster"
)

// TestRules runs the attacks of attacks_test.go and checks that each fails.
func TestRules(t *testing.T) {
	w := newWorld(t, 2, hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Model: "NVIDIA A100"})
	w.aggregate()
	w.apply(town)
	w.await("the victim's group is accepted", func() bool { return w.condition("victims") == "True Accepted" })
	w.apply(attackPod("mine", ", namespace: team-m, labels: {numalet.dev/tenant: mallory}, annotations: {numalet.dev/cpu-policy: single}", "", oneCPU))
	for _, group := range attacks {
		for _, a := range group.list {
			if a.test == "" {
				t.Run(a.name, func(t *testing.T) { w.attack(t, a) })
			}
		}
	}
}

// attack runs an attack and checks its outcome.
func (w *world) attack(t *testing.T, a attack) {
	said, err := w.attempt(t, a)
	switch {
	case a.refused != "" && err == nil:
		t.Fatalf("admitted: %s", said)
	case a.refused != "":
		if !strings.Contains(said, a.refused) && (a.or == "" || !strings.Contains(said, a.or)) {
			t.Errorf("refused with %.2000q, want: … %s …", said, a.refused)
		}
		if want := "cannot " + a.verb() + " resource"; a.refused == cannot && !strings.Contains(said, want) {
			t.Errorf("another request was refused, with %q, want: … %s …", said, want)
		}
		return
	case err != nil && !w.mutates() && incomplete(said):
		return // before Kubernetes 1.36, no policy adds the missing fields, so the API server has refused the object, and the attack has failed; from 1.36 on, a policy adds them, and the checks below apply
	case err != nil:
		t.Fatalf("refused: %s", said)
	}
	own := *w
	own.T = t
	got := ""
	own.await(a.query+" has "+a.gains, func() bool {
		got, _ = w.Kubectl(w.ctx, append([]string{"-n", "team-m", "get"}, strings.Fields(a.query)...)...)
		return strings.Contains(got, a.gains)
	})
	t.Logf("%s", got)
}

// incomplete reports whether the API server refused an object because the object lacks some fields.
// From Kubernetes 1.36 on, a mutating policy adds these fields.
func incomplete(said string) bool {
	return strings.Contains(said, otherwise) || strings.Contains(said, "Before Kubernetes 1.36, which sets them, write with each change")
}

// verb returns the RBAC verb of the attack's request.
func (a attack) verb() string {
	if method, _, ok := strings.Cut(a.request, " "); ok {
		return strings.ToLower(method)
	}
	for _, word := range strings.Fields(a.args) {
		if word == "delete" || word == "get" {
			return word
		}
	}
	return "create"
}

// attempt sends the request of an attack as the user of the attack, and returns the answer.
func (w *world) attempt(t *testing.T, a attack) (said string, err error) {
	user := a.as
	if user == "" {
		user = "mallory"
	}
	if a.request != "" {
		said, err = w.send(user, a)
	} else {
		said, err = w.kubectlAs(user, a)
	}
	t.Logf("%.2000s", said)
	return said, err
}

// kubectlAs runs kubectl for an attack, impersonating a user.
func (w *world) kubectlAs(user string, a attack) (said string, err error) {
	args := strings.Fields(a.args)
	if a.args == "" {
		args = []string{"create", "-f", "-"}
	}
	cmd := exec.CommandContext(w.ctx, filepath.Join(w.Bin, "kubectl"), append([]string{"-n", "team-m", "--as", user}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig)
	cmd.Stdin = strings.NewReader(a.object)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// send sends the HTTP request of an attack, impersonating a user.
func (w *world) send(user string, a attack) (said string, err error) {
	config, err := w.Config()
	w.must(err)
	config.Impersonate.UserName = user
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	api, err := kubernetes.NewForConfig(config)
	w.must(err)
	method, path, _ := strings.Cut(a.request, " ")
	request := api.RESTClient().Verb(method).AbsPath(path).SetHeader("Content-Type", "application/merge-patch+json").Body([]byte(a.object))
	answer, err := request.Do(w.ctx).Raw()
	return strings.ReplaceAll(string(answer), `\"`, `"`), err
}

// aggregate adds rules to the ClusterRole edit: those of all ClusterRoles that are aggregated to
// edit or view. Usually kube-controller-manager does this, but it does not run here.
func (w *world) aggregate() {
	w.Helper()
	roles := w.api.RbacV1().ClusterRoles()
	edit, err := roles.Get(w.ctx, "edit", metav1.GetOptions{})
	w.must(err)
	edit.Rules = nil
	for _, kind := range []string{"edit", "view"} {
		list, err := roles.List(w.ctx, metav1.ListOptions{LabelSelector: "rbac.authorization.k8s.io/aggregate-to-" + kind + "=true"})
		w.must(err)
		for _, role := range list.Items {
			edit.Rules = append(edit.Rules, role.Rules...)
		}
	}
	if len(edit.Rules) == 0 {
		w.Fatal("the role edit allows nothing")
	}
	_, err = roles.Update(w.ctx, edit, metav1.UpdateOptions{})
	w.must(err)
}

// town has the objects that exist before the attacks. The tenant `victim` has a GPU group, and the
// tenant `mallory` has a quota. The user `mallory` has the role `edit` in one namespace. There is
// also the user `ben`.
const town = `
{apiVersion: v1, kind: Namespace, metadata: {name: team-m, labels: {numalet.dev/tenant: mallory}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: team-m}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: numalet-controller, namespace: team-m}}
---
{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: mallory}, spec: {quotas: {gpu: "1"}}}
---
{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: victim}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: edit, namespace: team-m},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}, {kind: ServiceAccount, name: numalet-controller, namespace: team-m},
    {apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:serviceaccount:kube-system:daemon-set-controller"}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: victim}, rules: [{apiGroups: [numalet.dev], resources: [nodetopologies], resourceNames: [node-00000], verbs: [use]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: victim}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: victim},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "numalet.dev:tenant:victim"}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ben}, rules: [
  {apiGroups: [numalet.dev], resources: [gpugroups, jobs], verbs: ["*"]},
  {apiGroups: [numalet.dev], resources: [tenants], resourceNames: [ben], verbs: [use]},
  {apiGroups: [numalet.dev], resources: [nodetopologies], resourceNames: [node-00001], verbs: [use]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: ben}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ben},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ben}]}
---
{apiVersion: numalet.dev/v1alpha1, kind: GPUGroup, metadata: {name: victims}, spec: {tenants: [victim], nodes: [{name: node-00000, gpus: ["1", "2"]}]}}
`
