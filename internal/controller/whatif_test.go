package controller

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestWhatIf checks with which changes of a pending pod a what-if request finds a node. It also
// checks that the request changes nothing in the cluster, and that the controller refuses too many
// requests.
func TestWhatIf(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.start()
	pod := pendingPod("a", "12", "single")
	pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	w.create(pod)
	w.node("n2", 8, func(node *corev1.Node, _ *v1alpha1.NodeTopology) { node.Labels = map[string]string{"disk": "ssd"} })
	w.await("it fits no NUMA node", func() bool { return w.controller.queue.Depth()[queue.Unschedulable] == 1 && w.unscheduled("a") != "" })
	client := w.queueClient()
	got, err := client.WhatIf(t.Context(), "default", "a")
	if err != nil {
		t.Fatal(err)
	}
	want := []queueapi.Variant{
		{Change: "as it is"},
		{Change: "with 1/2 of its CPUs (6)", Fits: true, Node: "n2"},
		{Change: "with 1/4 of its CPUs (3)", Fits: true, Node: "n2"},
		{Change: "with 1/8 of its CPUs (1.5)", Fits: true, Node: "n2"},
		{Change: "with the policy random", Fits: true, Node: "n2"},
		{Change: "with the policy spread", Fits: true, Node: "n2"},
		{Change: "without its nodeSelector"},
		{Change: "with a toleration of all taints"},
	}
	if diff := cmp.Diff(want, got.Variants); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	if len(w.bound()) > 0 || w.controller.queue.Depth()[queue.Unschedulable] != 1 {
		t.Errorf("asking changed something: %v, %v", w.bound(), w.controller.queue.Depth())
	}
	refused := false
	for range 2 * whatIfBurst {
		_, err := client.WhatIf(t.Context(), "default", "a")
		refused = refused || err != nil
	}
	if !refused {
		t.Errorf("%d questions at once were all answered", 2*whatIfBurst)
	}
}

// TestWhatIfProfile checks that the answers of a what-if request obey the pod's scheduler profile.
// In the test, the profile adds a node affinity to all pods.
func TestWhatIfProfile(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.start("--config=" + onlySSD(t))
	w.create(pendingPod("a", "4", "single"))
	w.await("no node has the label", func() bool { return w.controller.queue.Depth()[queue.Unschedulable] == 1 && w.unscheduled("a") != "" })
	got, err := w.queueClient().WhatIf(t.Context(), "default", "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range got.Variants {
		if variant.Fits {
			t.Errorf("%s, the pod fits %s, which its profile excludes", variant.Change, variant.Node)
		}
	}
}

// onlySSD writes a KubeSchedulerConfiguration that restricts all pods to nodes with a certain
// label, and returns the path of the file.
func onlySSD(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: numalet-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
