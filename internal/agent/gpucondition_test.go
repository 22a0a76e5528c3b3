package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/pkg/gpu"
)

// TestGPUCondition checks the condition of the Node after each step, and how often the agent has
// written it. It must be written when the health of the GPUs has changed, when another client has
// removed it, and after a failure, and at no other time.
func TestGPUCondition(t *testing.T) {
	ok, sick := gpu.Health{State: gpu.Healthy}, gpu.Health{State: gpu.Unhealthy, Reason: "Xid 79"}
	type step struct {
		health  []gpu.Health // the GPUs of a new inventory; nil: there is no new inventory
		none    bool         // the new inventory has no GPUs
		away    bool         // the API server refuses writes
		removed bool         // another client has removed the condition
		last    time.Duration
		want    string // status and message of the condition, and the number of writes
	}
	const healthy, fault = "False all GPUs of the node are healthy", "True GPU-0: Xid 79"
	for name, tc := range map[string]struct {
		before string // the message of the condition that a former process of the agent has set; "" if there is none
		gpus   bool   // Numalet assigns GPUs on this node
		steps  []step
	}{
		"no GPUs assigned":            {"", false, []step{{last: time.Hour, want: "none, written 0"}}},
		"no GPUs assigned any more":   {"Xid 79", false, []step{{last: time.Hour, want: "none, written 1"}}},
		"no GPUs":                     {"", true, []step{{none: true, last: time.Hour, want: "none, written 0"}}},
		"healthy, hour after hour":    {"", true, []step{{health: []gpu.Health{ok}, last: 3 * time.Hour, want: healthy + ", written 1"}}},
		"a fault and its end":         {"", true, []step{{health: []gpu.Health{ok}, want: healthy + ", written 1"}, {health: []gpu.Health{sick}, want: fault + ", written 2"}, {health: []gpu.Health{ok}, want: healthy + ", written 3"}}},
		"the GPUs go away":            {"", true, []step{{health: []gpu.Health{sick}, want: fault + ", written 1"}, {none: true, want: "none, written 2"}}},
		"a restart":                   {"GPU-0: Xid 79", true, []step{{last: time.Second, want: fault + ", written 0"}, {health: []gpu.Health{sick}, want: fault + ", written 0"}}},
		"no inventory after restart":  {"GPU-0: Xid 79", true, []step{{last: gpufeed.DefaultTimeout, want: "none, written 1"}}},
		"another client removes it":   {"", true, []step{{health: []gpu.Health{sick}, want: fault + ", written 1"}, {removed: true, last: 2 * checkLabelEvery, want: fault + ", written 2"}}},
		"the API server is away":      {"", true, []step{{health: []gpu.Health{sick}, away: true, last: time.Second, want: "none, written 1"}, {last: 2 * retryEvery, want: fault + ", written 2"}}},
		"away, on a node with no GPU": {"Xid 79", false, []step{{away: true, last: time.Second, want: "True Xid 79, written 1"}, {last: 2 * retryEvery, want: "none, written 2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
				if tc.before != "" {
					node.Status.Conditions = []corev1.NodeCondition{{Type: v1alpha1.NodeConditionGPUUnhealthy, Status: corev1.ConditionTrue, Reason: "Unhealthy", Message: tc.before}}
				}
				client := fake.NewClientset(node)
				var away atomic.Bool
				away.Store(tc.steps[0].away)
				var writes atomic.Int64
				client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
					writes.Add(1)
					return away.Load(), nil, errors.New("away")
				})
				a := &agent{client: client}
				a.cfg.NodeName = "n"
				if tc.gpus {
					a.gpus = &gpus{client: gpufeed.NewClient(gpufeed.Options{})}
				}
				a.newGPUCondition()
				known := a.gpuHealth.known()
				a.gpuHealth.known = func() *gpu.Inventory { return known }
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- a.gpuHealth.run(ctx) }()
				synctest.Wait()
				for i, s := range tc.steps {
					away.Store(s.away)
					if s.removed {
						if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), &corev1.Node{ObjectMeta: node.ObjectMeta}, ""); err != nil {
							t.Fatal(err)
						}
					}
					if s.health != nil || s.none {
						known = inventory(s.health...)
						a.gpuHealth.notify()
					}
					time.Sleep(s.last)
					synctest.Wait()
					if diff := cmp.Diff(s.want, fmt.Sprintf("%s, written %d", a.conditionNow(t), writes.Load())); diff != "" {
						t.Errorf("step %d (-want +got):\n%s", i, diff)
					}
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// conditionNow returns the status and the message of the Node's only condition.
func (a *agent) conditionNow(t *testing.T) string {
	t.Helper()
	node, err := a.client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range node.Status.Conditions {
		return fmt.Sprintf("%s %s", c.Status, c.Message)
	}
	return "none"
}
