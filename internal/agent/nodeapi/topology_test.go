package nodeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/api/v1alpha1"
)

// published is a fake node, and a fake API server that has the NodeTopology of this node.
type published struct {
	*testing.T
	api      *dynamicfake.FakeDynamicClient
	topology *Topology
	refuse   atomic.Int32 // number of patches that the API server refuses before it accepts one
	mu       sync.Mutex
	status   v1alpha1.NodeTopologyStatus // the state of the node
	seen     int                         // number of requests that the API server had received at the last call of p.writes
}

// change changes the state of the fake node.
func (p *published) change(do func(*v1alpha1.NodeTopologyStatus)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(&p.status)
}

// now returns the state of the fake node.
func (p *published) now() (s v1alpha1.NodeTopologyStatus) {
	p.change(func(status *v1alpha1.NodeTopologyStatus) { s = *status.DeepCopy() })
	return s
}

// publishing calls the function given as `test` while a fake node publishes its NodeTopology. Package
// synctest simulates the time.
func publishing(t *testing.T, test func(p *published)) {
	synctest.Test(t, func(t *testing.T) {
		p := &published{T: t, api: newResources(t), status: twoNodes()}
		p.api.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return p.refuse.Add(-1) >= 0, nil, fmt.Errorf("try later")
		})
		var err error
		p.topology, err = NewTopology(TopologySource{
			Client:    fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "node-uid"}}),
			Resources: p.api, Node: node,
			Status: p.now,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.topology.Run(ctx) }()
		test(p)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// twoNodes returns the status of a machine with two NUMA nodes and one pod with exclusive CPUs.
func twoNodes() v1alpha1.NodeTopologyStatus {
	memory := resource.MustParse("8Gi")
	return v1alpha1.NodeTopologyStatus{
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Serving", LastTransitionTime: metav1.Unix(1, 0)}},
		Machine:    v1alpha1.Machine{Packages: 1, NUMANodes: 2, Cores: 4, ThreadsPerCore: 2},
		CPUs:       v1alpha1.CPUCounts{Capacity: 8, Allocatable: 7, Available: 5},
		NUMA: []v1alpha1.NUMANode{
			{ID: 0, CPUs: "0-3", CPUCounts: v1alpha1.CPUCounts{Capacity: 4, Allocatable: 3, Available: 1}, Memory: &memory, AvailableMemory: &memory,
				Distances: []v1alpha1.Distance{{ID: 0, Value: 10}, {ID: 8, Value: 20}}},
			{ID: 8, CPUs: "4-7", CPUCounts: v1alpha1.CPUCounts{Capacity: 4, Allocatable: 4, Available: 4}},
		},
		Pods: []v1alpha1.PodCPUs{holder("a", "2-3")},
	}
}

func holder(name, cpus string) v1alpha1.PodCPUs {
	return v1alpha1.PodCPUs{UID: "uid-" + name, Namespace: "default", Name: name, Containers: []v1alpha1.ContainerCPUs{{Name: "main", CPUs: cpus}}}
}

// waitAndCompare waits until the fake node has published its NodeTopology. It compares the list
// `want` with the field managers of the patches that were sent since the previous call of
// waitAndCompare. It also checks that the NodeTopology in the API server agrees with the node's
// state.
func (p *published) waitAndCompare(want ...string) {
	p.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	if diff := cmp.Diff(want, p.writes()); diff != "" {
		p.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.status, p.live().Status); diff != "" {
		p.Errorf("status (-want +got):\n%s", diff)
	}
}

// writes returns the field managers of the patches since its last call. For a patch of the status,
// it adds the word "status" to the manager's name.
func (p *published) writes() (names []string) {
	actions := p.api.Actions()
	for _, action := range actions[p.seen:] {
		if patch, ok := action.(clienttesting.PatchActionImpl); ok {
			name := patch.PatchOptions.FieldManager
			if patch.Subresource != "" {
				name += " " + patch.Subresource
			}
			names = append(names, name)
		}
	}
	p.seen = len(actions)
	return names
}

func (p *published) live() v1alpha1.NodeTopology {
	p.Helper()
	obj, err := p.api.Resource(v1alpha1.NodeTopologyResource()).Get(p.Context(), node, metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	var live v1alpha1.NodeTopology
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &live); err != nil {
		p.Fatal(err)
	}
	return live
}

const (
	made    = Component
	lasting = Component + " status"
	free    = Component + "-available status"
)

// TestPublish checks that the agent creates the NodeTopology once, with the Node as its owner.
// Later writes must have only the part of the status that has changed.
func TestPublish(t *testing.T) {
	publishing(t, func(p *published) {
		p.waitAndCompare(made, free, lasting, free) // what pods hold comes before the GPUs and CPUs, so that none of them appears free
		want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: "node-uid"}}
		if diff := cmp.Diff(want, p.live().OwnerReferences); diff != "" {
			t.Errorf("owners (-want +got):\n%s", diff)
		}
		p.topology.Notify()
		p.waitAndCompare()

		p.change(func(s *v1alpha1.NodeTopologyStatus) {
			s.Pods = append(s.Pods, holder("b", "1"))
			s.NUMA[0].Available, s.CPUs.Available = 0, 4
		})
		p.topology.Notify()
		p.waitAndCompare(free)

		p.change(func(s *v1alpha1.NodeTopologyStatus) { s.Pods = nil })
		p.topology.Notify()
		p.waitAndCompare(free)

		p.change(func(s *v1alpha1.NodeTopologyStatus) { s.NUMA, s.Machine.ReservedCPUs = s.NUMA[:1], "0" })
		p.topology.Notify()
		p.waitAndCompare(lasting, free)
	})
}

// TestPublishGathers checks that several changes of the node's state within batchDelay cause only
// one write of the NodeTopology.
func TestPublishGathers(t *testing.T) {
	publishing(t, func(p *published) {
		p.waitAndCompare(made, free, lasting, free)
		for i := range 10 {
			p.change(func(s *v1alpha1.NodeTopologyStatus) {
				s.Pods = append(s.Pods, holder(fmt.Sprint("c", i), fmt.Sprint(i)))
			})
			p.topology.Notify()
			time.Sleep(batchDelay / 20)
		}
		p.waitAndCompare(free)
	})
}

// TestPublishRepairs checks that the agent restores its NodeTopology after another client has
// deleted or edited it.
func TestPublishRepairs(t *testing.T) {
	publishing(t, func(p *published) {
		p.waitAndCompare(made, free, lasting, free)
		api := p.api.Resource(v1alpha1.NodeTopologyResource())
		if err := api.Delete(p.Context(), node, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.waitAndCompare(made, free, lasting, free)

		obj, err := api.Get(p.Context(), node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		obj.Object["status"].(map[string]any)["cpus"].(map[string]any)["available"] = int64(99)
		if _, err := api.Update(p.Context(), obj, metav1.UpdateOptions{FieldManager: "kubectl"}); err != nil {
			t.Fatal(err)
		}
		p.waitAndCompare(free)
	})
}

// TestConditionKeepsItsTime checks that a condition of the NodeTopology keeps its transition time
// as long as its status does not change, even if the agent restarts.
func TestConditionKeepsItsTime(t *testing.T) {
	publishing(t, func(p *published) {
		p.waitAndCompare(made, free, lasting, free)
		since := p.status.Conditions[0].LastTransitionTime
		p.change(func(s *v1alpha1.NodeTopologyStatus) { s.Conditions[0].LastTransitionTime = metav1.Unix(2, 0) })
		p.topology.Notify()
		time.Sleep(time.Minute)
		p.change(func(s *v1alpha1.NodeTopologyStatus) { s.Conditions[0].LastTransitionTime = since })
		p.waitAndCompare()
		p.change(func(s *v1alpha1.NodeTopologyStatus) {
			s.Conditions[0].Status, s.Conditions[0].LastTransitionTime = metav1.ConditionFalse, metav1.Unix(3, 0)
		})
		p.topology.Notify()
		p.waitAndCompare(lasting)
	})
}

// TestPublishTriesAgain checks that the agent sends a write of the NodeTopology again if the API
// server refuses it.
func TestPublishTriesAgain(t *testing.T) {
	publishing(t, func(p *published) {
		p.refuse.Store(3)
		p.waitAndCompare(slices.Concat([]string{made, made, made}, []string{made, free, lasting, free})...)
	})
}

// TestSplit checks the second of the two parts into which the function `split` divides a status.
// This part must have the fields that change with pods. Only the keys of list items, such as the ID
// of a NUMA node, are in both parts.
func TestSplit(t *testing.T) {
	parts, err := split(twoNodes())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(parts[1].fields)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"cpus":{"available":5},"numa":[{"available":1,"availableMemory":"8Gi","id":0},{"available":4,"id":8}],` +
		`"pods":[{"containers":[{"cpus":"2-3","name":"main"}],"name":"a","namespace":"default","uid":"uid-a"}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("changing part (-want +got):\n%s", diff)
	}
}
