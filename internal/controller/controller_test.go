package controller

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// bound returns the node and the placement of each bound pod as "NODE PLACEMENT", by pod name. The
// placement is an annotation with the exclusive CPUs and the GPUs that the controller chose.
func (w *world) bound() map[string]string {
	where := map[string]string{}
	for _, pod := range w.pods() {
		if pod.Spec.NodeName != "" {
			where[pod.Name] = pod.Spec.NodeName + " " + pod.Annotations[v1alpha1.AnnotationPlacement]
		}
	}
	return where
}

// unscheduled returns the message of a pod's condition PodScheduled if the condition has the status
// False, and otherwise "".
func (w *world) unscheduled(name string) string {
	for _, pod := range w.pods() {
		for _, condition := range pod.Status.Conditions {
			if pod.Name == name && condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return condition.Message
			}
		}
	}
	return ""
}

// TestSchedules checks that a Binding sets the pod's node and placement together. It also checks
// that a pod that fits nowhere gets a reason, and is bound when a node with enough room appears.
func TestSchedules(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4)
	w.start()
	w.pod("spread", "2", "spread")
	w.pod("single", "3", "single")
	w.pod("plain", "500m", "")
	w.await("three pods are bound", func() bool { return len(w.bound()) == 3 })
	w.pod("big", "4", "single")
	w.await("the big pod's author hears why", func() bool {
		return w.unscheduled("big") == "0/1 nodes are available: 1 Insufficient cpu."
	})
	w.node("n2", 4)
	w.await("the big pod is bound", func() bool { return len(w.bound()) == 4 })
	want := map[string]string{
		"spread": `n1 {"version":1,"containers":{"main":{"cpus":{"0":1,"1":1}}}}`,
		"single": `n1 {"version":1,"containers":{"main":{"cpus":{"0":3}}}}`,
		"plain":  "n1 ",
		"big":    `n2 {"version":1,"containers":{"main":{"cpus":{"0":4}}}}`,
	}
	if diff := cmp.Diff(want, w.bound()); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}
}

// promised returns the number of exclusive CPUs that bound pods have on each NUMA node. The keys
// are "NODE/ID", with the ID of the NUMA node.
func (w *world) promised() map[string]int {
	w.Helper()
	sum := map[string]int{}
	for _, pod := range w.pods() {
		if pod.Spec.NodeName == "" {
			continue
		}
		placement, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement])
		if err != nil {
			w.Fatalf("pod %s: %v", pod.Name, err)
		}
		for id, cpus := range placement.Containers["main"].CPUs {
			sum[fmt.Sprintf("%s/%d", pod.Spec.NodeName, id)] += cpus
		}
	}
	return sum
}

// TestStormWithFailingBinds creates more pods than fit on two small nodes. The API server refuses a
// third of the Binding requests at random, and another third fail without an answer. The test
// checks that in the end the bound pods fill both nodes, and that no CPU is given to two pods.
func TestStormWithFailingBinds(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(1, 1))
	refused := 0
	w.refuse = func(b *corev1.Binding) error {
		switch r.IntN(3) {
		case 0:
			refused++
			return apierrors.NewForbidden(corev1.Resource("pods/binding"), b.Name, errors.New("not now"))
		case 1:
			return errors.New("no answer")
		}
		return nil
	}
	w.node("n1", 8)
	w.node("n2", 8)
	for i := range 60 {
		w.pod(fmt.Sprintf("p%02d", i), "2", []string{"single", "random", "spread"}[i%3])
	}
	w.start("--reserve-after=none") // no pod ends here, so CPUs that are reserved for a waiting pod would stay unused
	w.await("both nodes are full", func() bool { return len(w.bound()) == 16 })
	w.await("the rest waits", func() bool { return w.controller.queue.Depth()[queue.Unschedulable] == 44 })
	want := map[string]int{"n1/0": 8, "n1/1": 8, "n2/0": 8, "n2/1": 8}
	if diff := cmp.Diff(want, w.promised()); diff != "" {
		t.Errorf("promised (-want +got):\n%s", diff)
	}
	for node := range w.controller.state.View().Nodes() {
		if node.Free.CPU != 1000 || node.NUMA[0].FreeCPUs != 0 || node.NUMA[1].FreeCPUs != 0 {
			t.Errorf("%s: free %+v, %+v; want the reserved CPU only", node.Name, node.Free, node.NUMA)
		}
	}
	if undone := w.controller.pipeline.Counters().Undone; refused == 0 || undone != uint64(refused) {
		t.Errorf("%d binds were refused, %d were undone", refused, undone)
	}
}

// TestRefusedBind checks a pod whose Binding the API server refuses. The condition of the pod must
// say why the API server refuses the Binding, and the pod must be bound once the API server accepts
// the Binding.
func TestRefusedBind(t *testing.T) {
	w := newWorld(t)
	allowed := false
	w.refuse = func(b *corev1.Binding) error {
		if allowed {
			return nil
		}
		return apierrors.NewForbidden(corev1.Resource("pods/binding"), b.Name, errors.New("not now"))
	}
	w.node("n1", 4)
	w.start()
	w.pod("a", "2", "single")
	w.await("the author hears why", func() bool { return strings.Contains(w.unscheduled("a"), "not now") })
	w.mu.Lock()
	allowed = true
	w.mu.Unlock()
	w.await("it is bound", func() bool { return len(w.bound()) == 1 })
}

// TestAvoidsNodeThatRejected checks what happens after a node's agent has rejected the placement of
// a pod. The next pod of the same owner must not be bound to this node, and its condition must say
// why. A pod of another owner must still be bound to the node.
func TestAvoidsNodeThatRejected(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4)
	w.start()
	w.owned("first", "job")
	w.await("the first pod is bound", func() bool { return len(w.bound()) == 1 })
	w.reject("first")
	w.await("the rejection is noted", func() bool { return w.controller.avoided.Avoids("uid-job", "n1") })
	w.owned("next", "job")
	w.await("the next pod's author hears why", func() bool {
		return w.unscheduled("next") == "0/1 nodes are available: 1 node(s) rejected the placement of a pod of the same owner a short time ago."
	})
	w.owned("another", "other")
	w.await("another's is bound", func() bool { _, ok := w.bound()["another"]; return ok })
}

// TestExplanationFollowsNodes checks a pod whose node selector requires node a, while the nodes a
// and b are cordoned. When b is uncordoned, the pod still fits nowhere. But b then refuses the pod
// because of the node selector, and not because b is cordoned. The pod's condition must soon have
// this new reason, long before the controller tries the pod again.
func TestExplanationFollowsNodes(t *testing.T) {
	w := newWorld(t)
	cordoned := func(node *corev1.Node, _ *v1alpha1.NodeTopology) {
		node.Labels, node.Spec.Unschedulable = map[string]string{corev1.LabelHostname: node.Name}, true
	}
	w.node("a", 4, cordoned)
	w.node("b", 4, cordoned)
	w.start()
	pod := pendingPod("elsewhere", "2", "")
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"}
	w.create(pod)
	w.await("both nodes are unschedulable", func() bool {
		return w.unscheduled("elsewhere") == "0/2 nodes are available: 2 node(s) were unschedulable."
	})
	nodes := w.client.CoreV1().Nodes()
	b, err := nodes.Get(w.Context(), "b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.Spec.Unschedulable = false
	if _, err := nodes.Update(w.Context(), b, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("one of them is not what the pod selects", func() bool {
		return w.unscheduled("elsewhere") == "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) were unschedulable."
	})
}
