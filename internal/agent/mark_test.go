package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/agent/nri"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// unsupported is a fake container runtime whose version the agent does not support.
type unsupported struct{}

func (unsupported) Run(context.Context) error { return nri.ErrUnsupported }
func (unsupported) Ready() error              { return nri.ErrUnsupported }

// flaky is a fake container runtime. While the value of the field `there` is true, the runtime is
// connected to the agent.
type flaky struct{ there atomic.Bool }

func (f *flaky) Run(context.Context) error { return nil }
func (f *flaky) Ready() error {
	if f.there.Load() {
		return nil
	}
	return errors.New("no socket")
}

// labelled returns an agent for the Node n. If the parameter `before` is true, the Node already has
// the label numalet.dev/exclusive-cpus, as if an earlier agent had set it.
func labelled(t *testing.T, runtime adapter, before bool) *agent {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if before {
		node.Labels = map[string]string{v1alpha1.LabelExclusiveCPUs: "true"}
	}
	a := &agent{log: testr.New(t), client: fake.NewClientset(node), runtime: runtime}
	a.cfg.NodeName, a.cfg.ExclusiveCPUs = "n", true
	a.needs = []need{{"RuntimeNotServed", runtime.Ready}}
	return a
}

func (a *agent) labelNow(t *testing.T) string {
	t.Helper()
	node, err := a.client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node.Labels[v1alpha1.LabelExclusiveCPUs]
}

// TestMarkFollowsTheRuntime checks that the agent does not set the label numalet.dev/exclusive-cpus
// before the container runtime is connected. Otherwise, pods with exclusive CPUs would be scheduled
// to the node too early. The agent must remove the label after a long interruption of the
// connection, but not after a short one.
func TestMarkFollowsTheRuntime(t *testing.T) {
	for name, tc := range map[string]struct {
		before bool
		off    bool
		there  []bool // whether the container runtime is connected; each element stands for 90 s
		want   []string
	}{
		"never connected":              {there: []bool{false, false}, want: []string{"", ""}},
		"never connected, was before":  {before: true, there: []bool{false, false}, want: []string{"true", ""}},
		"connected":                    {there: []bool{true}, want: []string{"true"}},
		"away for a moment":            {there: []bool{true, false, true}, want: []string{"true", "true", "true"}},
		"away for long, then connects": {there: []bool{true, false, false, true}, want: []string{"true", "true", "", "true"}},
		"switched off":                 {before: true, off: true, there: []bool{true}, want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runtime := &flaky{}
				agent := labelled(t, runtime, tc.before)
				agent.cfg.ExclusiveCPUs = !tc.off
				runtime.there.Store(tc.there[0])
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- agent.mark(ctx) }()
				for i, there := range tc.there {
					runtime.there.Store(there)
					time.Sleep(90 * time.Second)
					synctest.Wait()
					if got := agent.labelNow(t); got != tc.want[i] {
						t.Errorf("after %d s: label %q, want %q", 90*(i+1), got, tc.want[i])
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

// TestUntaint checks that the agent removes the startup taint numalet.dev/agent-not-ready when the
// container runtime is connected and the agent is ready. The agent must do so again after the node
// was registered again. The agent must not add the taint again while the runtime is disconnected.
func TestUntaint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runtime := &flaky{}
		agent := labelled(t, runtime, false)
		policies := &flaky{}
		agent.readiness = []telemetry.Check{{Name: "admission policies", Ready: policies.Ready}}
		agent.taint(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for _, part := range []func(context.Context) error{agent.mark, agent.untaint} {
			go func() { ended <- part(ctx) }()
		}
		for i, step := range []struct{ runtime, policies, register, want bool }{
			{want: true},
			{runtime: true, want: true},
			{runtime: true, policies: true, want: false},
			{policies: true, want: false},
			{policies: true, register: true, want: true},
			{runtime: true, policies: true, want: false},
		} {
			runtime.there.Store(step.runtime)
			policies.there.Store(step.policies)
			if step.register {
				agent.taint(t)
			}
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			node, err := agent.client.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(node.Spec.Taints) > 0; got != step.want {
				t.Errorf("step %d: tainted: %v, want %v (%v)", i, got, step.want, agent.startedUp())
			}
		}
		cancel()
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// taint adds the startup taint numalet.dev/agent-not-ready to the node, as the kubelet does when it
// registers the node.
func (a *agent) taint(t *testing.T) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"taints":[{"key":%q,"effect":"NoSchedule"}]}}`, v1alpha1.TaintAgentNotReady)
	if _, err := a.client.CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestMarkRestoresTheLabel checks that the agent sets the label numalet.dev/exclusive-cpus again if
// another client removes it. If another client sets it on a node where exclusive CPUs are switched
// off, the agent must remove it.
func TestMarkRestoresTheLabel(t *testing.T) {
	for name, off := range map[string]bool{"removed while it serves": false, "set while it is switched off": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runtime := &flaky{}
				runtime.there.Store(true)
				agent := labelled(t, runtime, false)
				agent.cfg.ExclusiveCPUs = !off
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- agent.mark(ctx) }()
				synctest.Wait()
				want := agent.labelNow(t)
				other := map[bool]func(context.Context, kubernetes.Interface, string) error{true: nodeapi.MarkNode, false: nodeapi.UnmarkNode}[off]
				if err := other(ctx, agent.client, "n"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if got := agent.labelNow(t); got != want {
					t.Errorf("label %q after two minutes, want %q again", got, want)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestMarkNeedsSystemd checks that the agent sets the label numalet.dev/exclusive-cpus when systemd
// answers, and removes it when systemd has not answered for the time unservedAfter. The agent
// refuses new pods with exclusive CPUs until systemd answers, so no such pod should be scheduled to
// the node.
func TestMarkNeedsSystemd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runtime, systemd := &flaky{}, &flaky{}
		runtime.there.Store(true)
		agent := labelled(t, runtime, false)
		agent.needs = append(agent.needs, need{"SystemdUnreachable", systemd.Ready})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- agent.mark(ctx) }()
		for _, answers := range []bool{false, true, false} {
			systemd.there.Store(answers)
			time.Sleep(unservedAfter + time.Minute)
			synctest.Wait()
			if got, want := agent.labelNow(t), map[bool]string{true: "true"}[answers]; got != want {
				t.Errorf("systemd answers: %v; label %q, want %q", answers, got, want)
			}
			if got, want := agent.ready().Reason, map[bool]string{true: "Serving", false: "SystemdUnreachable"}[answers]; got != want {
				t.Errorf("systemd answers: %v; reason %s of the condition, want %s", answers, got, want)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestUnsupportedRuntime checks an agent whose container runtime is not supported. The agent must
// continue to run. It must also remove the label numalet.dev/exclusive-cpus, so that no more pods
// with exclusive CPUs are scheduled to the node.
func TestUnsupportedRuntime(t *testing.T) {
	agent := labelled(t, unsupported{}, true)
	pods, err := nodeapi.NewPods(agent.client, "n", nodeapi.Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	agent.pods = pods
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	for _, part := range []func(context.Context) error{agent.pods.Run, agent.serveRuntime, agent.mark} {
		go func() { ended <- part(ctx) }()
	}
	for deadline := time.Now().Add(5 * time.Second); agent.labelNow(t) != ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the label is still there")
		}
	}
	select {
	case err := <-ended:
		t.Errorf("the agent ended: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	if err := errors.Join(<-ended, <-ended, <-ended); err != nil {
		t.Errorf("told to end: %v", err)
	}
}

// TestAgentThatCannotStart checks that an agent that cannot start removes the label
// numalet.dev/exclusive-cpus, which an earlier process of the agent has set.
func TestAgentThatCannotStart(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Node","apiVersion":"v1"}`)
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("clusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Agent{Shared: config.Shared{NodeName: "n", Kubeconfig: kubeconfig, SysfsRoot: t.TempDir()}}
	if err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no online CPU") {
		t.Errorf("serve on a machine without CPUs: %v", err)
	}
	want := []string{`PATCH /api/v1/nodes/n {"metadata":{"labels":{"numalet.dev/exclusive-cpus":null}}}`}
	if len(asked) == 0 {
		t.Fatal("no requests")
	}
	event := asked[len(asked)-1]
	if diff := cmp.Diff(want, asked[:len(asked)-1]); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, part := range []string{"POST /api/v1/namespaces/default/events", "Node", EventNodeConfig, "no online CPU"} {
		if !strings.Contains(event, part) {
			t.Errorf("the last request %q lacks %q", event, part)
		}
	}
}
