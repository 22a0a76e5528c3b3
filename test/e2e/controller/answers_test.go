//go:build e2e

package controller

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/test/hollowcluster"
)

// user is a service account that may read the pods and the queue of one namespace.
type user struct {
	*world
	kubeconfig string
}

// newUser creates an account that may read the pods of its namespace, and nothing in
// numalet-system. Usually, kube-controller-manager adds the rules of the ClusterRole
// numalet-queue-view to the ClusterRole view. No kube-controller-manager runs here, so newUser
// binds numalet-queue-view itself.
func (w *world) newUser(namespace string) user {
	w.Helper()
	for _, args := range [][]string{
		{"create", "namespace", namespace},
		{"-n", namespace, "create", "serviceaccount", namespace + "-user"},
		{"-n", namespace, "create", "role", "view", "--verb=get,list", "--resource=pods"},
		{"-n", namespace, "create", "rolebinding", "view", "--role=view", "--serviceaccount=" + namespace + ":" + namespace + "-user"},
		{"-n", namespace, "create", "rolebinding", "queue", "--clusterrole=numalet-queue-view", "--serviceaccount=" + namespace + ":" + namespace + "-user"},
	} {
		_, err := w.Kubectl(w.ctx, args...)
		w.must(err)
	}
	file, err := w.Account(w.ctx, namespace, namespace+"-user")
	w.must(err)
	return user{w, file}
}

// run runs a program as the user and returns its output.
func (u user) run(program string, args ...string) string {
	out, _ := exec.CommandContext(u.ctx, program, append(args, "--kubeconfig="+u.kubeconfig)...).CombinedOutput()
	return string(out)
}

// newAnswering starts a control plane, and a controller with additional flags. The API server
// forwards requests for the queue API (queue.numalet.dev) to the controller.
func newAnswering(t *testing.T, n int, s hollowcluster.Shape, settings ...string) *world {
	w := newPlane(t, n, s)
	w.startController(append(settings, "--pod-ip=192.0.2.7")...)
	w.serveQueue()
	return w
}

// serveQueue makes the API server forward requests for the queue API to the controller. It returns
// a client of the queue API with the rights of an administrator.
func (w *world) serveQueue() queueapi.Client {
	w.Helper()
	w.must(w.InstallQueue(w.ctx, repository))
	w.must(w.ServeQueue(w.ctx, w.controller))
	config, err := w.Config()
	w.must(err)
	client, err := rest.HTTPClientFor(config)
	w.must(err)
	return queueapi.Client{Server: config.Host, HTTP: client}
}

// TestAnswersFollowRights checks that users without rights in numalet-system see the pending pods
// of their own namespaces and no others. It also checks that the controller refuses requests that
// do not come through the API server.
func TestAnswersFollowRights(t *testing.T) {
	w := newAnswering(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8})
	ann, bob := w.newUser("ann"), w.newUser("bob")
	for _, namespace := range []string{"ann", "bob"} {
		w.must(w.MakePods(w.ctx, namespace, 1, func(int) *corev1.Pod { return big(namespace) }))
	}
	kubectl := filepath.Join(w.Bin, "kubectl")
	w.await("both pods wait", func() bool {
		return strings.Contains(ann.run(kubectl, "get", "pendingpods")+bob.run(kubectl, "get", "pendingpods"), "unschedulable") &&
			!strings.Contains(ann.run(kubectl, "get", "pendingpods")+bob.run(kubectl, "get", "pendingpods"), " active")
	})
	for name, tc := range map[string]struct {
		by         user
		args       []string
		says, hide string
	}{
		"own namespace":      {ann, []string{"get", "pendingpods"}, "big", "forbidden"},
		"own pod":            {bob, []string{"get", "pendingpods", "big", "-o", "jsonpath={.status.state}"}, "unschedulable", ""},
		"other namespace":    {ann, []string{"get", "pendingpods", "-n", "bob"}, `cannot list resource "pendingpods" in API group "queue.numalet.dev" in the namespace "bob"`, "unschedulable"},
		"other pod":          {bob, []string{"get", "pendingpods", "big", "-n", "ann"}, "forbidden", "unschedulable"},
		"all namespaces":     {ann, []string{"get", "pendingpods", "-A"}, "at the cluster scope", "unschedulable"},
		"pod that is not":    {ann, []string{"get", "pendingpods", "none"}, `pendingpods.queue.numalet.dev "none" not found`, ""},
		"the administrators": {ann, []string{"-n", "numalet-system", "get", "pods"}, "forbidden", ""},
	} {
		said := tc.by.run(kubectl, tc.args...)
		if !strings.Contains(said, tc.says) || tc.hide != "" && strings.Contains(said, tc.hide) {
			t.Errorf("%s: kubectl %s says %q, want %q", name, strings.Join(tc.args, " "), said, tc.says)
		}
	}
	slice, err := w.api.DiscoveryV1().EndpointSlices("numalet-system").Get(w.ctx, "numalet-queue", metav1.GetOptions{})
	w.must(err)
	if diff := cmp.Diff([]string{"192.0.2.7"}, slice.Endpoints[0].Addresses); diff != "" {
		t.Errorf("address of the leader (-want +got):\n%s", diff)
	}
	out, _ := exec.CommandContext(w.ctx, "curl", "-sk", "-H", "X-Remote-User: admin", "-H", "X-Remote-Group: system:masters", "https://"+w.controller.Queue+"/apis/queue.numalet.dev/v1alpha1/pendingpods").CombinedOutput()
	if !strings.Contains(string(out), "takes requests from the API server only") {
		t.Errorf("past the API server: %s", out)
	}
}

func big(namespace string) *corev1.Pod {
	return hollowcluster.Pod(namespace, "big", "numalet-scheduler", "500", 0)
}
