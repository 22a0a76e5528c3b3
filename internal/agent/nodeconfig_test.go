package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/pkg/cpuset"
)

// TestKubeletIsCheckedAgain changes the kubelet's configuration while the agent runs. It checks
// that the condition KubeletCompatible and the events report the conflicts, and that the node
// does not have the label numalet.dev/exclusive-cpus while the kubelet pins containers itself.
func TestKubeletIsCheckedAgain(t *testing.T) {
	static := kubelet.Conflict{Reason: kubelet.CPUManagerStatic, Message: "cpu manager"}
	memory := kubelet.Conflict{Reason: kubelet.MemoryManagerStatic, Message: "memory manager"}
	synctest.Test(t, func(t *testing.T) {
		runtime := &flaky{}
		runtime.there.Store(true)
		a := labelled(t, runtime, false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a.events = nodeapi.NewEvents(ctx, a.client, "n")
		defer a.events.Close()
		type answer struct {
			conflicts []kubelet.Conflict
			err       error
		}
		var now atomic.Pointer[answer]
		read := func() ([]kubelet.Conflict, error) { return now.Load().conflicts, now.Load().err }
		now.Store(&answer{})
		a.kubelet = &kubeletCheck{read: read, changed: a.kubeletChanged}
		a.needs = append(a.needs, need{kubelet.CPUManagerStatic, a.kubelet.ready})
		ended := make(chan error, 2)
		go func() { ended <- a.mark(ctx) }()
		go func() { ended <- a.kubelet.run(ctx) }()
		for _, step := range []struct {
			conflicts  []kubelet.Conflict
			unreadable error
			condition  string
			ready      string
			label      string
			events     int
		}{
			{condition: "True Compatible", ready: "True Serving", label: "true"},
			{conflicts: []kubelet.Conflict{memory}, condition: "False MemoryManagerStatic", ready: "True Serving", label: "true", events: 1},
			{unreadable: errors.New("half written"), condition: "False MemoryManagerStatic", ready: "True Serving", label: "true", events: 1},
			{conflicts: []kubelet.Conflict{static, memory}, condition: "False CPUManagerStatic", ready: "False CPUManagerStatic", events: 2},
			{condition: "True Compatible", ready: "True Serving", label: "true", events: 2},
		} {
			now.Store(&answer{step.conflicts, step.unreadable})
			time.Sleep(kubeletEvery + 2*markEvery)
			synctest.Wait()
			got := []string{a.kubelet.condition().Reason, a.ready().Reason, a.labelNow(t)}
			want := []string{strings.Fields(step.condition)[1], strings.Fields(step.ready)[1], step.label}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v: condition, Ready, label (-want +got):\n%s", step.conflicts, diff)
			}
			if events := a.nodeEvents(t); len(events) != step.events {
				t.Errorf("%v: events %q, want %d", step.conflicts, events, step.events)
			}
		}
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
	})
}

// nodeEvents returns the messages of the events that the agent wrote on its Node.
func (a *agent) nodeEvents(t *testing.T) (messages []string) {
	t.Helper()
	list, err := a.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == "Node" && e.Reason == EventNodeConfig {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

func TestReservedCondition(t *testing.T) {
	for list, want := range map[string]struct {
		reason string
		events []string
	}{"0-1": {"Reserved", nil}, "": {"NothingReserved", []string{unreserved}}} {
		synctest.Test(t, func(t *testing.T) {
			a := labelled(t, &flaky{}, false)
			a.log = testr.New(t)
			a.events = nodeapi.NewEvents(t.Context(), a.client, "n")
			a.checkReserved(cpuset.MustParse(list))
			synctest.Wait()
			if got := a.reservedCondition(); got.Reason != want.reason || got.Message == "" {
				t.Errorf("reserved %q: condition %v, want reason %s", list, got, want.reason)
			}
			if got := a.nodeEvents(t); !slices.Equal(got, want.events) {
				t.Errorf("reserved %q: events %q, want %q", list, got, want.events)
			}
			a.events.Close()
		})
	}
}
