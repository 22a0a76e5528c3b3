//go:build e2e

package controller

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/numalet/numalet/test/hollowcluster"
)

// TestEveryPermissionOfReadersIsNeeded tests the roles that administrators grant to users and to
// Prometheus. For each permission of these roles, it checks two requests: without the permission,
// the request is refused, and with the permission, it is answered.
func TestEveryPermissionOfReadersIsNeeded(t *testing.T) {
	w := newPlane(t, 1, hollowcluster.Shape{NUMA: 1, CPUs: 4})
	w.must(w.InstallQueue(w.ctx, repository))
	w.startController("--metrics-secure=true", "--pod-ip=192.0.2.7")
	w.must(w.ServeQueue(w.ctx, w.controller))
	_, err := w.Kubectl(w.ctx, "create", "namespace", "readers")
	w.must(err)
	w.must(w.MakePods(w.ctx, "readers", 1, func(int) *corev1.Pod { return big("readers") }))

	kubectl := func(args ...string) func(user) string {
		return func(by user) string { return by.run(filepath.Join(w.Bin, "kubectl"), args...) }
	}
	w.apply(jobManifest("readers", "kept"))
	w.apply(jobManifest("readers", "deleted"))
	jobs := func(method, name, body string) func(user) string {
		return func(by user) string {
			return by.send(method, "/apis/numalet.dev/v1alpha1/namespaces/readers/jobs"+name, body)
		}
	}
	const queue, own = "queue.numalet.dev", "numalet.dev"
	refused := func(verb string) string { return `cannot ` + verb + ` resource \"jobs\" in API group \"numalet.dev\"` }
	requests := map[permission]struct {
		ask     func(user) string
		refused string
		says    string
	}{
		{"", "/metrics", "get"}: {user.metrics, "403", "numalet_scheduler_pending_pods"},
		{queue, "pendingpods", "list"}: {kubectl("get", "pendingpods"),
			`cannot list resource "pendingpods" in API group "queue.numalet.dev"`, "unschedulable"},
		{queue, "pendingpods", "get"}: {kubectl("get", "pendingpods", "big", "-o", "jsonpath={.status.state}"),
			`cannot get resource "pendingpods" in API group "queue.numalet.dev"`, "unschedulable"},
		{queue, "pendingpods/whatif", "get"}: {kubectl("get", "--raw", "/apis/queue.numalet.dev/v1alpha1/namespaces/readers/pendingpods/big/whatif"),
			`cannot get resource "pendingpods/whatif" in API group "queue.numalet.dev"`, `"kind":"WhatIf"`},
		{own, "jobs", "get"}:              {jobs(http.MethodGet, "/kept", ""), refused("get"), "200 OK"},
		{own, "jobs", "list"}:             {jobs(http.MethodGet, "", ""), refused("list"), "200 OK"},
		{own, "jobs", "watch"}:            {jobs(http.MethodGet, "?watch=true&timeoutSeconds=1", ""), refused("watch"), "200 OK"},
		{own, "jobs", "create"}:           {jobs(http.MethodPost, "", jobManifest("readers", "created")), refused("create"), "201 Created"},
		{own, "jobs", "update"}:           {jobs(http.MethodPut, "/kept", jobManifest("readers", "kept")), refused("update"), "must be specified for an update"}, // the body has no resourceVersion
		{own, "jobs", "patch"}:            {jobs(http.MethodPatch, "/kept", `{"spec":{"backoffLimit":2}}`), refused("patch"), "200 OK"},
		{own, "jobs", "delete"}:           {jobs(http.MethodDelete, "/deleted", ""), refused("delete"), "200 OK"},
		{own, "jobs", "deletecollection"}: {jobs(http.MethodDelete, "?labelSelector=none", ""), refused("deletecollection"), "200 OK"},
	}
	lacking := w.withdraw(rolesOf(t.Name()), manifests...)
	for p, request := range requests {
		holders, ok := lacking.lacks[p]
		if !ok {
			t.Errorf("no role has %v", p)
			continue
		}
		delete(lacking.lacks, p)
		// The API server caches the result of an authorization check for each account. So the
		// request with the permission comes from another account than the request without it.
		before, after := w.reader(), w.reader()
		said := ""
		w.await(fmt.Sprintf("nobody has %v", p), func() bool {
			said = request.ask(before)
			return strings.Contains(said, request.refused)
		})
		t.Logf("without %v: %s", p, said)
		w.must(lacking.give(p, holders))
		w.await(fmt.Sprintf("the request with %v is answered", p), func() bool {
			said = request.ask(after)
			return strings.Contains(said, request.says)
		})
	}
	lacking.check()
}

// jobManifest returns a Job (numalet.dev) that is suspended, as JSON.
func jobManifest(namespace, name string) string {
	return fmt.Sprintf(`{"apiVersion":"numalet.dev/v1alpha1","kind":"Job","metadata":{"namespace":%q,"name":%q,"labels":{"numalet.dev/tenant":%[1]q}},`+
		`"spec":{"suspend":true,"template":{"spec":{"containers":[{"name":"main","image":"none"}]}}}}`, namespace, name)
}

// reader returns a new account that has the roles for the queue, for Jobs and for metrics.
// Usually, kube-controller-manager adds the rules of the first three roles to the ClusterRoles view
// and edit. No kube-controller-manager runs here.
func (w *world) reader() user {
	w.Helper()
	w.readers++
	name := fmt.Sprintf("reader-%d", w.readers)
	account := "--serviceaccount=readers:" + name
	for _, args := range [][]string{
		{"-n", "readers", "create", "serviceaccount", name},
		{"-n", "readers", "create", "rolebinding", name, "--clusterrole=numalet-queue-view", account},
		{"-n", "readers", "create", "rolebinding", name + "-jobs-view", "--clusterrole=numalet-jobs-view", account},
		{"-n", "readers", "create", "rolebinding", name + "-jobs-edit", "--clusterrole=numalet-jobs-edit", account},
		{"create", "clusterrolebinding", name, "--clusterrole=numalet-metrics-reader", account},
	} {
		_, err := w.Kubectl(w.ctx, args...)
		w.must(err)
	}
	file, err := w.Account(w.ctx, "readers", name)
	w.must(err)
	return user{w, file}
}

// metrics returns the status and the body of the controller's answer to a request for /metrics.
func (u user) metrics() string {
	u.Helper()
	return u.request("https://"+u.controller.Metrics, http.MethodGet, "/metrics", "")
}

// send sends a request to the API server. It returns the status and the body of the answer.
func (u user) send(method, path, body string) string {
	u.Helper()
	return u.request("", method, path, body)
}

// request sends a request with the user's token to a server. The parameter `server` is its URL; ""
// means the API server. The body is JSON. The result is the status and the body of the answer.
func (u user) request(server, method, path, body string) string {
	u.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	u.must(err)
	request, err := http.NewRequestWithContext(u.ctx, method, cmp.Or(server, config.Host)+path, strings.NewReader(body))
	u.must(err)
	request.Header.Set("Authorization", "Bearer "+config.BearerToken)
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	u.must(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	u.must(err)
	return response.Status + "\n" + string(answer)
}
