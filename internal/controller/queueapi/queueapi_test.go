package queueapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// serve returns a client of a queue in which bob's pod comes before ann's two pods, and a
// function that stops the queue's replica from leading.
func serve(t *testing.T) (Client, func()) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, leads := start, true
	q := queue.New(queue.Env{
		Now: func() time.Time { return now }, After: func(time.Duration, func()) {}, FreedSeq: func() uint64 { return 0 },
		Rank: func(tenant string, _ fairshare.Type) float64 { return map[string]float64{"ann": 8, "bob": .5}[tenant] },
	}, queue.Options{})
	for i, name := range []string{"ann/a1", "ann/a2", "bob/b1"} {
		tenant, pod, _ := strings.Cut(name, "/")
		q.Add(queue.Entry{
			Pod: &sched.Pod{UID: name, Namespace: tenant, Name: pod}, Created: start.Add(time.Duration(i) * time.Second), Type: "T4", Tenant: tenant,
		})
	}
	now = start.Add(90 * time.Second)
	server := httptest.NewServer(New(Source{
		List: q.List, Explain: q.Explain, Message: func(uid string) string { return "said of " + uid }, Leads: func() bool { return leads },
	}))
	t.Cleanup(server.Close)
	return Client{server.URL}, func() { leads = false }
}

func TestQueue(t *testing.T) {
	client, _ := serve(t)
	pods, err := client.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row := func(name, tenant string, score float64, position int) Pod {
		return Pod{Name: name, Type: "T4", Tenant: tenant, Score: score, Position: position, Of: 3, State: "active", Waited: "1m30s", WaitsFor: "it waits for its turn"}
	}
	want := []Pod{row("bob/b1", "bob", .5, 1), row("ann/a1", "ann", 8, 2), row("ann/a2", "ann", 8, 3)}
	if diff := cmp.Diff(want, pods); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
}

func TestWhy(t *testing.T) {
	client, stop := serve(t)
	pod, err := client.Why(t.Context(), "ann", "a2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Ahead{{"bob", .5, 1}, {"ann", 8, 1}}, pod.Ahead); diff != "" || pod.Position != 3 || pod.Message != "said of ann/a2" || pod.Needs == "" {
		t.Errorf("pod %+v, ahead (-want +got):\n%s", pod, diff)
	}
	for name, want := range map[string]string{"none": "is not in the queue", "a1": ""} {
		if _, err := client.Why(t.Context(), "ann", name); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	stop()
	if _, err := client.Queue(t.Context()); err == nil || !strings.Contains(err.Error(), "on standby") {
		t.Errorf("error %v of a replica on standby", err)
	}
	if _, err := (Client{"http://127.0.0.1:1"}).Queue(t.Context()); err == nil || !strings.Contains(err.Error(), "port-forward") {
		t.Errorf("error %v of a controller that is not reachable", err)
	}
}
