//go:build e2e

package controller

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// permission is the smallest unit that RBAC grants: one verb for one resource. The resource may
// also be a path, such as /metrics.
type permission struct{ group, resource, verb string }

// withdrawn has the permissions that the test has removed from a program's roles. A permission is
// granted again after two things have happened: the API server has refused a request because the
// permission is missing, and the program has reported this. So a single run of the program shows
// for each permission what fails without it.
type withdrawn struct {
	*world

	mu    sync.Mutex
	files []string // logs of the program
	all   map[permission]bool
	lacks map[permission][]*role // permissions that are still missing, with the roles that have them in the manifest
	given sync.WaitGroup
}

// role is a ClusterRole or a Role. Both have the same fields.
type role struct {
	rbacv1.ClusterRole
	full []rbacv1.PolicyRule // the rules in the manifest
}

// withdraw removes all rules from the roles with the given names. The roles are defined in the
// given manifests.
func (w *world) withdraw(names []string, manifests ...string) *withdrawn {
	w.Helper()
	r := &withdrawn{world: w, all: map[permission]bool{}, lacks: map[permission][]*role{}}
	for _, manifest := range manifests {
		text, err := os.ReadFile(filepath.Join(repository, manifest))
		w.must(err)
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			var own role
			w.must(yaml.Unmarshal(document, &own.ClusterRole))
			if !strings.HasSuffix(own.Kind, "Role") || !slices.Contains(names, own.Name) {
				continue
			}
			own.full, own.Rules = own.Rules, nil
			for _, p := range permissions(own.full) {
				if r.all[p] {
					w.Errorf("two rules grant %v: remove one", p)
				}
				r.all[p] = true
				r.lacks[p] = append(r.lacks[p], &own)
			}
			w.must(r.write(&own))
		}
	}
	if len(r.all) == 0 {
		w.Fatalf("no rules of %v in %v", names, manifests)
	}
	w.Cleanup(r.given.Wait)
	return r
}

// withdrawOnNode creates a pod of a service account on node-00000. It returns a kubeconfig with a
// token of this account. The token is bound to the pod. The roles that roleTests lists for the
// running test lose all permissions, except for the permission to patch events.
func (w *world) withdrawOnNode(account string) (*withdrawn, string) {
	w.Helper()
	own := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "numalet-system", Name: account},
		Spec: corev1.PodSpec{NodeName: "node-00000", ServiceAccountName: account, Containers: []corev1.Container{{Name: "program", Image: "none"}}}}
	own, err := w.api.CoreV1().Pods(own.Namespace).Create(w.ctx, own, metav1.CreateOptions{})
	w.must(err)
	l := w.withdraw(rolesOf(w.T.Name()), manifests...)
	l.elsewhere(permission{"", "events", "patch"}, "TestEventsCountEquals of internal/agent/nodeapi")
	token, err := w.AccountOf(w.ctx, own)
	w.must(err)
	proxy, kubeconfig, err := w.Refusals(token, l.refused)
	w.must(err)
	w.Cleanup(proxy.Close)
	return l, kubeconfig
}

// permissions lists the permissions that rules grant.
func permissions(rules []rbacv1.PolicyRule) (all []permission) {
	for _, rule := range rules {
		for _, path := range rule.NonResourceURLs {
			for _, verb := range rule.Verbs {
				all = append(all, permission{"", path, verb})
			}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, permission{group, resource, verb})
				}
			}
		}
	}
	return all
}

// rule returns an RBAC rule that grants only this permission. If names is not empty, the rule is
// only for the resources with these names.
func (p permission) rule(names []string) rbacv1.PolicyRule {
	if strings.HasPrefix(p.resource, "/") {
		return rbacv1.PolicyRule{NonResourceURLs: []string{p.resource}, Verbs: []string{p.verb}}
	}
	return rbacv1.PolicyRule{APIGroups: []string{p.group}, Resources: []string{p.resource}, Verbs: []string{p.verb}, ResourceNames: names}
}

// write updates the rules of a role in the API server.
func (r *withdrawn) write(own *role) (err error) {
	if own.Kind == "ClusterRole" {
		_, err = r.api.RbacV1().ClusterRoles().Update(r.ctx, &own.ClusterRole, metav1.UpdateOptions{})
		return err
	}
	_, err = r.api.RbacV1().Roles(own.Namespace).Update(r.ctx, &rbacv1.Role{ObjectMeta: own.ObjectMeta, Rules: own.Rules}, metav1.UpdateOptions{})
	return err
}

// refused is called with the message of each request that the API server refuses. It waits until
// the program reports the refusal, and then grants the missing permission again.
func (r *withdrawn) refused(message string) {
	p, words, ok := wanting(message)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	holders, lacks := r.lacks[p]
	if !lacks {
		if !r.all[p] {
			r.Errorf("the program needs a permission that its role lacks: %s", message)
		}
		return
	}
	delete(r.lacks, p)
	r.given.Go(func() {
		if !r.told(words) {
			r.Errorf("the program does not log that the API server refused %v: %s", p, words)
		}
		if err := r.give(p, holders); err != nil {
			r.Error(err)
		}
		r.Logf("without %v: %s", p, words)
	})
}

// told waits until the program's log or a condition of a GPUGroup contains some words. It returns
// false after 30 s.
func (r *withdrawn) told(words string) bool {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		for _, file := range r.logged() {
			text, err := os.ReadFile(file)
			if err == nil && strings.Contains(strings.ReplaceAll(string(text), `\`, ""), words) {
				return true
			}
		}
		groups, err := r.Kubectl(r.ctx, "get", "gpugroups", "-o", "jsonpath={.items[*].status.conditions[*].message}")
		if err == nil && strings.Contains(groups, words) {
			return true
		}
	}
	return false
}

// logs adds a log file of the program. The method `told` searches all added files.
func (r *withdrawn) logs(file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, file)
}

func (r *withdrawn) logged() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.files)
}

// give grants a permission to the given roles.
func (r *withdrawn) give(p permission, holders []*role) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, own := range holders {
		for _, rule := range own.full {
			if slices.Contains(permissions([]rbacv1.PolicyRule{rule}), p) {
				own.Rules = append(own.Rules, p.rule(rule.ResourceNames))
			}
		}
		if err := r.write(own); err != nil {
			return fmt.Errorf("give %v back: %w", p, err)
		}
	}
	return nil
}

// elsewhere grants a permission again. The test then does not check whether the program needs this
// permission. The argument `why` says why not: another test checks it, or the program uses it only if
// requests happen in a certain order.
func (r *withdrawn) elsewhere(p permission, why string) {
	r.Helper()
	holders := r.lacks[p]
	delete(r.lacks, p)
	r.must(r.give(p, holders))
	r.Logf("%v: %s", p, why)
}

// done reports whether every permission was granted again or is about to be granted.
func (r *withdrawn) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lacks) == 0
}

// check fails the test for each permission that the program did not need. While the permission was
// missing, the API server refused no request for that reason.
func (r *withdrawn) check() {
	r.Helper()
	r.given.Wait()
	for p := range r.lacks {
		r.Errorf("nothing fails without the permission to %s %s of the API group %q; remove it from the role", p.verb, p.resource, p.group)
	}
}

// byRBAC matches the part of the API server's message that names the missing permission, if RBAC
// refuses a request. An example is: cannot patch resource "nodes" in API group "".
var byRBAC = regexp.MustCompile(`cannot (\w+) resource "([^"]+)" in API group "([^"]*)"`)

// indirect has the permissions that admission plugins check. These permissions are for other
// objects than the requested one, and the message of a refusal does not name them. So indirect
// lists which permission is missing (the value) if the message contains certain words (the key).
var indirect = map[string]permission{
	"which only the numalet controller may set":                                                           {"numalet.dev", "placements", "create"},
	"cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on": {"numalet.dev", "jobs/finalizers", "update"},
}

// wanting returns the missing permission that caused a refusal, and the part of the message that
// names the permission.
func wanting(message string) (p permission, words string, ok bool) {
	message = strings.ReplaceAll(message, `\`, "")
	if found := byRBAC.FindStringSubmatch(message); found != nil {
		return permission{found[3], found[2], found[1]}, found[0], true
	}
	for words, p := range indirect {
		if strings.Contains(message, words) {
			return p, words, true
		}
	}
	return permission{}, "", false
}
