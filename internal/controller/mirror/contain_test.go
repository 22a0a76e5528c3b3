package mirror

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	fakesource "k8s.io/client-go/tools/cache/testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestPanicOfOnePod checks that a panic in the handling of one pod is reported, and that other pods
// are still handled.
func TestPanicOfOnePod(t *testing.T) {
	scene, reports := newScene(t), make(chan string, 1)
	scene.mirror.env.Filters = panicking{scene.mirror.env.Filters}
	scene.mirror.env.Panicked = func(object string, cause any) { reports <- fmt.Sprint(object, ": ", cause) }
	client := fake.NewClientset(nodeOf("n1", scenario.Words{"cpu=8"}), podOf("bad", scenario.Words{"cpu=1", "node=n1"}), podOf("good", scenario.Words{"cpu=3", "node=n1"}))
	factory := NewInformers(client, client.CoreV1())
	topologies, err := custom(fakesource.NewFakeControllerSource(), &v1alpha1.NodeTopology{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Watch(factory, topologies, scene.mirror); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	awaitShown(t, scene, "n1: free 5000m of 8000m CPU, 109 of 110 pods\n")
	select {
	case got := <-reports:
		if diff := cmp.Diff("*v1.Pod default/bad: no such pod", got); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
	case <-time.After(10 * time.Second):
		t.Error("the panic was not reported")
	}
}

// panicking are filters that panic on the pod "bad".
type panicking struct{ Filters }

func (p panicking) ReadBoundPod(pod *corev1.Pod, before *nodestate.Assignment) (any, error) {
	if pod.Name == "bad" {
		panic("no such pod")
	}
	return p.Filters.ReadBoundPod(pod, before)
}

func TestNameOf(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	for name, tc := range map[string]struct {
		obj  any
		want string
	}{
		"a node":         {node, "*v1.Node n1"},
		"a pod":          {podOf("a", nil), "*v1.Pod default/a"},
		"a deleted node": {cache.DeletedFinalStateUnknown{Key: "n1", Obj: node}, "*v1.Node n1"},
		"no object":      {3, "int"},
	} {
		if got := nameOf(tc.obj); got != tc.want {
			t.Errorf("%s: nameOf = %s, want %s", name, got, tc.want)
		}
	}
}
