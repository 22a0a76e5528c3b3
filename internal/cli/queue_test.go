package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const trainPod = `{"apiVersion":"queue.numalet.dev/v1alpha1","kind":"PendingPod","metadata":{"namespace":"team","name":"train","uid":"u1"},` +
	`"status":{"type":"T4","tenant":"ann","score":2,"position":1,"of":1,"state":"active","waited":"3s","waitsFor":"it waits for its turn","forecast":{"p50":"12m0s","p90":"2h0m0s"}}}`

const objectMissing = `{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"%s \"%s\" not found","details":{"kind":"%[1]s","name":"%s"}}`

// fakeCluster starts a fake API server and returns its URL. The cluster has one pending pod, in the
// namespace team.
func fakeCluster(t *testing.T) string {
	const queue = "/apis/queue.numalet.dev/v1alpha1/"
	pages := map[string]string{
		queue + "pendingpods":                              `{"items":[` + trainPod + `]}`,
		queue + "namespaces/team/pendingpods":              `{"items":[` + trainPod + `]}`,
		queue + "namespaces/other/pendingpods":             `{"items":[]}`,
		queue + "namespaces/team/pendingpods/train":        trainPod,
		queue + "namespaces/team/pendingpods/train/whatif": `{"variants":[{"change":"as it is","fits":false},{"change":"with the policy random","fits":true,"node":"n1"}]}`,
		"/api/v1/namespaces/team/pods/gated":               `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"team","name":"gated"},"spec":{"schedulerName":"numalet-scheduler","schedulingGates":[{"name":"wait"}]}}`,
		"/apis/numalet.dev/v1alpha1/tenants":               `{"apiVersion":"numalet.dev/v1alpha1","kind":"TenantList","items":[{"apiVersion":"numalet.dev/v1alpha1","kind":"Tenant","metadata":{"name":"ann"},"spec":{"weight":"2","quotas":{"T4":"8"}},"status":{"accounts":[{"type":"cpu","usage":"3","score":"1.23456789","lastUpdateTime":"2026-01-01T00:00:00.000000Z"}]}}]}`,
		"/apis/numalet.dev/v1alpha1/gpugroups":             `{"apiVersion":"numalet.dev/v1alpha1","kind":"GPUGroupList","items":[{"apiVersion":"numalet.dev/v1alpha1","kind":"GPUGroup","metadata":{"name":"g1"},"spec":{"tenants":["ann"],"form":"physical"},"status":{"gpus":4}}]}`,
		"/apis/numalet.dev/v1alpha1/nodetopologies":        `{"apiVersion":"numalet.dev/v1alpha1","kind":"NodeTopologyList","items":[{"apiVersion":"numalet.dev/v1alpha1","kind":"NodeTopology","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True"}],"cpus":{"allocatable":14,"available":5},"numa":[{"id":0,"allocatable":6,"available":2},{"id":1,"allocatable":8,"available":3}],"gpus":[{"id":"G0","health":"Healthy"},{"id":"M0","parent":"G1","health":"Healthy"},{"id":"M1","parent":"G1","health":"Healthy"}],"gpuHolders":[{"uid":"u","devices":["M0::3"]}]}}]}`,
		"/api/v1/namespaces":                               `{"items":[{"metadata":{"name":"team"}}]}`,
	}
	for _, list := range []string{"tenants", "gpugroups", "nodetopologies"} { // each has one object
		path := "/apis/numalet.dev/v1alpha1/" + list
		var all struct{ Items []json.RawMessage }
		if err := json.Unmarshal([]byte(pages[path]), &all); err != nil {
			t.Fatal(err)
		}
		pages[path+"/"+map[string]string{"tenants": "ann", "gpugroups": "g1", "nodetopologies": "n1"}[list]] = string(all.Items[0])
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		page, ok := pages[r.URL.Path]
		if !ok {
			path := strings.Split(r.URL.Path, "/")
			w.WriteHeader(http.StatusNotFound)
			page = fmt.Sprintf(objectMissing, path[max(len(path)-2, 0)], path[len(path)-1], path[len(path)-1])
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// kubeconfig writes a kubeconfig file and returns its name. The current context has the namespace
// "team", and the context "there" has the namespace "other".
func kubeconfig(t *testing.T, server string) string {
	file := filepath.Join(t.TempDir(), "config")
	content := `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: team}}, {name: there, context: {cluster: c, user: u, namespace: other}}]
clusters: [{name: c, cluster: {server: "` + server + `"}}]
users: [{name: u, user: {}}]
`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestShow checks the output of the commands of numalet that read a cluster.
func TestShow(t *testing.T) {
	file := kubeconfig(t, fakeCluster(t))
	for line, want := range map[string]string{
		"why train":             "team/train is number 1 of 1 pods that wait for T4, pending for 3s",
		"why train -n team":     "  start    probably in 12m0s, rarely later than in 2h0m0s, unless pods that are created later go first\n",
		"why train --what-if":   "CHANGE                  ROOM NOW\nas it is                no\nwith the policy random  on n1\n",
		"why gated":             "  cause    the pod has the scheduling gates wait: whoever set them has to remove them; nobody schedules it before\n",
		"why train -o json":     `"uid": "u1"`,
		"why train -o yaml":     "waitsFor: it waits for its turn",
		"queue":                 "T4    1         team/train  ann     2      3s      active  it waits for its turn\n",
		"queue -A -o wide":      "PRIORITY  OF  UID\n",
		"queue -n other":        "no pod is pending\n",
		"queue --context there": "no pod is pending\n",
		"queue -o json":         `"kind": "PendingPodList"`,
		"tenants":               "TENANT  WEIGHT  TYPE  USES  QUOTA  SCORE\nann     2       T4    0     8      0\nann     2       cpu   3     -      1.235\n",
		"tenants ann -o yaml":   "kind: TenantList",
		"tenants -o wide":       "ann     2       T4    0     8      0      -\nann     2       cpu   3     -      1.235  2026-01-01T00:00:00Z\n",
		"top":                   "NODE  READY  CPUS  FREE CPUS  GPUS  FREE GPUS  PODS\nn1    yes    14    5          2     1          0\n",
		"top n1 -o wide":        "n1    1     8     3          -\n",
		"top -o json":           `"kind": "NodeTopologyList"`,
		"groups":                "g1     ann      physical  any   4     0     -   not yet\n",
		"groups g1 -o wide":     "MESSAGE\n",
		"groups -o yaml":        "kind: GPUGroupList",
	} {
		got := numalet(append(strings.Fields(line), "--kubeconfig", file)...)
		if got.status != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("numalet %s: status %d, stderr %q, stdout\n%s\nwant\n%s", line, got.status, got.stderr, got.stdout, want)
		}
	}
	t.Setenv("KUBECONFIG", file)
	if got := numalet("why", "train"); got.status != 0 {
		t.Errorf("$KUBECONFIG: status %d, stderr %q", got.status, got.stderr)
	}
}

// TestShowNothing checks the exit status and the message of the commands of numalet that read a
// cluster, if there is nothing to show.
func TestShowNothing(t *testing.T) {
	file := kubeconfig(t, fakeCluster(t))
	for line, want := range map[string]string{
		"tenants bob":          `there is no "bob", or you may not see it`,
		"top n9":               `there is no "n9", or you may not see it`,
		"groups g9":            `there is no "g9", or you may not see it`,
		"queue --context none": `context was not found for specified context: none`,
	} {
		if got := numalet(append(strings.Fields(line), "--kubeconfig", file)...); got.status != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("numalet %s: status %d, stderr %q, want %q", line, got.status, got.stderr, want)
		}
	}
}

// TestCompletion checks which values shell completion offers.
func TestCompletion(t *testing.T) {
	at := "--kubeconfig " + kubeconfig(t, fakeCluster(t)) + " "
	for line, want := range map[string]string{
		"topo -o ":                            "text json svg",
		"queue -o ":                           "text wide json yaml",
		"map -o ":                             "text wide json yaml",
		"pick --policy ":                      "random spread single",
		"pick -o ":                            "text json",
		"groups -o ":                          "text wide json yaml",
		"groups plan -o ":                     "text json",
		"why -o ":                             "text wide json yaml",
		"why " + at:                           "train",
		"why " + at + "-n other ":             "",
		"why " + at + "train ":                "",
		"tenants " + at:                       "ann",
		"groups " + at + "g":                  "g1",
		"top " + at:                           "n1",
		"queue " + at + "-n ":                 "team",
		"queue " + at + "--context ":          "here there",
		"queue --kubeconfig /none --context ": "",
	} {
		got := numalet(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		values, _, _ := strings.Cut(got.stdout, ":")
		if diff := cmp.Diff(want, strings.Join(strings.Fields(values), " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s%s", line, diff, got.stderr)
		}
	}
}
