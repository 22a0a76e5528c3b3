//go:build e2e

package controller

import (
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
	const queue = "queue.numalet.dev"
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

// reader returns a new account that has the roles numalet-queue-view and numalet-metrics-reader.
func (w *world) reader() user {
	w.Helper()
	w.readers++
	name := fmt.Sprintf("reader-%d", w.readers)
	account := "--serviceaccount=readers:" + name
	for _, args := range [][]string{
		{"-n", "readers", "create", "serviceaccount", name},
		{"-n", "readers", "create", "rolebinding", name, "--clusterrole=numalet-queue-view", account},
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
	config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	u.must(err)
	request, err := http.NewRequestWithContext(u.ctx, http.MethodGet, "https://"+u.controller.Metrics+"/metrics", nil)
	u.must(err)
	request.Header.Set("Authorization", "Bearer "+config.BearerToken)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	u.must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	u.must(err)
	return response.Status + "\n" + string(body)
}
