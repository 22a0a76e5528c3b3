package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/api/v1alpha1"
)

// statuses returns a client that accepts each patch of a GPUGroup's status, and stores nothing.
func (w *world) statuses() dynamic.Interface {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("patch", "gpugroups", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{}, nil
	})
	return client
}

// permit makes the fake API server allow all tenants to use the named nodes in GPU groups, and no
// other nodes.
func (w *world) permit(nodes ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.permitted = nodes
}

// review answers a SubjectAccessReview: the use of a node is allowed if the last call of the method
// `permit` named the node.
func (w *world) review(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
	review.Status.Allowed = review.Spec.ResourceAttributes != nil && slices.Contains(w.permitted, review.Spec.ResourceAttributes.Name)
	return true, review, nil
}

// gpuNode creates a node with the GPUs NAME-0, NAME-1, ... Each element of `links` is for one GPU.
// The element has one word for each GPU of the node. The word says how the two GPUs are connected:
// for example, PIX means that they are at the same PCIe switch.
func (w *world) gpuNode(name string, gpus int, links ...string) {
	w.Helper()
	w.node(name, 4, withGPUs(gpus), func(_ *corev1.Node, topology *v1alpha1.NodeTopology) {
		for i, row := range links {
			topology.Status.GPUs[i].Links = strings.Fields(row)
		}
	})
}

// withGPUs gives a node the GPUs NAME-0, NAME-1, ...
func withGPUs(gpus int) func(*corev1.Node, *v1alpha1.NodeTopology) {
	return func(node *corev1.Node, topology *v1alpha1.NodeTopology) {
		node.Status.Allocatable["nvidia.com/gpu"] = *resource.NewQuantity(int64(gpus), "")
		for i := range gpus {
			topology.Status.GPUs = append(topology.Status.GPUs, v1alpha1.GPU{ID: fmt.Sprintf("%s-%d", node.Name, i), Index: int32(i), Model: "T4", Form: "physical", Health: "Healthy"})
		}
	}
}

// group creates or edits a group of the tenant ann. Each element of `bindings` has the form
// "n1=0,1": a node and the indexes of its GPUs in the group.
func (w *world) group(name, quota string, bindings ...string) {
	g := &v1alpha1.GPUGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if old, ok := w.made[name]; ok {
		g.Generation = old.Generation + 1
	}
	g.Spec = v1alpha1.GPUGroupSpec{Tenants: []string{"ann"}, Form: "physical"}
	if quota != "" {
		most := resource.MustParse(quota)
		g.Spec.Quota = &most
	}
	for _, b := range bindings {
		node, gpus, _ := strings.Cut(b, "=")
		g.Spec.Nodes = append(g.Spec.Nodes, v1alpha1.GPUGroupNode{Name: node, GPUs: strings.Split(gpus, ",")})
	}
	if _, ok := w.made[name]; ok {
		w.groups.Modify(g)
	} else {
		w.groups.Add(g)
	}
	w.made[name] = g
}

// gpuPod creates a pending pod that requests GPUs and belongs to the given tenant. The parameter
// `group` is the GPU group that the pod names, or "" if the pod names no group.
func (w *world) gpuPod(name, tenant, group string, gpus int64) {
	w.Helper()
	pod := pendingPod(name, "100m", "")
	pod.Labels = map[string]string{v1alpha1.LabelTenant: tenant}
	if group != "" {
		pod.Annotations[v1alpha1.AnnotationGPUGroup] = group
	}
	list := pod.Spec.Containers[0].Resources.Limits
	list["nvidia.com/gpu"] = *resource.NewQuantity(gpus, "")
	w.create(pod)
}

// given returns the GPU group and the GPUs that each bound pod has been given, by pod name.
func (w *world) given() map[string]string {
	all := map[string]string{}
	for _, pod := range w.pods() {
		if pod.Spec.NodeName == "" {
			continue
		}
		placement, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement])
		if err != nil {
			w.Fatal(err)
		}
		all[pod.Name] = strings.TrimSpace(fmt.Sprint(pod.Annotations[v1alpha1.AnnotationGPUGroup], " ", strings.Join(placement.Containers["main"].GPUs, ",")))
	}
	return all
}

// end deletes a pod.
func (w *world) end(name string) {
	w.Helper()
	if err := w.client.CoreV1().Pods("default").Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// TestGroups checks that pods of a GPU group's tenant get the GPUs of the group, and that pods of
// other tenants get other GPUs. Pods that name a group of another tenant, a group that does not
// exist, or a group that is not accepted must wait, and their condition PodScheduled must say why.
// After an edit of a group, the controller must try a pending pod again.
func TestGroups(t *testing.T) {
	w := newWorld(t)
	w.permit("n1")
	w.gpuNode("n1", 5)
	w.group("g", "", "n1=0,1")
	w.start()
	w.gpuPod("first", "ann", "", 2)
	w.await("ann gets the GPUs of her group", func() bool { return w.given()["first"] == "g n1-0,n1-1" })
	w.gpuPod("stranger", "bob", "g", 1)
	w.await("bob hears that it is not his", func() bool {
		return w.unscheduled("stranger") == `GPU group "g" is not for tenant "bob": name a group of that tenant, or none`
	})
	w.gpuPod("other", "bob", "", 2)
	w.await("bob gets GPUs in no group", func() bool { return w.given()["other"] == "n1-2,n1-3" })
	w.gpuNode("n2", 2)
	w.gpuPod("next", "ann", "g", 1)
	w.await("ann hears what she waits for", func() bool {
		return strings.Contains(w.unscheduled("next"), "1 Insufficient GPUs: too few of GPU group g are free")
	})
	w.gpuPod("named", "ann", "h", 1)
	w.await("there is no such group", func() bool {
		return w.unscheduled("named") == `GPU group "h" does not exist: name another group, or none`
	})
	w.group("h", "", "n2=1")
	w.await("she has no right to make it", func() bool {
		return strings.HasPrefix(w.unscheduled("named"), `GPU group "h" is not accepted: group "h": tenant ann has no permission to use GPU "n2-1" of node "n2"`)
	})
	w.end("named")
	w.permit("n1", "n2")
	w.group("g", "", "n2=0")
	w.await("the edit applies", func() bool { return w.given()["next"] == "g n2-0" })
}

// TestLinks checks that a pod with two GPUs gets two GPUs of one PCIe switch, whether or not the
// GPUs belong to a GPU group.
func TestLinks(t *testing.T) {
	w := newWorld(t)
	w.permit("n1")
	w.gpuNode("n1", 6, "- SYS PIX SYS SYS SYS", "SYS - SYS PIX SYS SYS", "PIX SYS - SYS SYS SYS", "SYS PIX SYS - SYS SYS", "SYS SYS SYS SYS - PIX", "SYS SYS SYS SYS PIX -")
	w.group("g", "", "n1=2,4,5")
	w.start()
	w.gpuPod("of-group", "ann", "", 2)
	w.await("ann gets two of one switch, and not the first two", func() bool { return w.given()["of-group"] == "g n1-4,n1-5" })
	w.gpuPod("of-none", "bob", "", 2)
	w.await("bob gets two of one switch, and not the first two", func() bool { return w.given()["of-none"] == "n1-1,n1-3" })
}

// TestQuotas checks that a pod that exceeds a quota of its GPU group or its tenant waits, and that
// its condition PodScheduled says why. It also checks that such a pod starts once enough
// other pods of the tenant have ended.
func TestQuotas(t *testing.T) {
	w := newWorld(t)
	w.permit("n1")
	w.gpuNode("n1", 4)
	w.group("g", "2", "n1=0,1,2")
	w.quotas.Add(&v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "bob"}, Spec: v1alpha1.TenantSpec{
		Quotas: map[string]resource.Quantity{"cpu": resource.MustParse("1"), "T4": resource.MustParse("0")},
	}})
	w.quotas.Add(&v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "ann"}})
	w.start()
	w.gpuPod("a", "ann", "", 2)
	w.await("a is bound", func() bool { return w.given()["a"] != "" })
	w.gpuPod("b", "ann", "g", 1)
	w.await("b hears why it waits", func() bool {
		return w.unscheduled("b") == "0/1 nodes are available: tenant ann, GPU group g: 1 GPU requested, but 2 GPUs in use and the limit is 2 GPUs: "+
			"wait until other pods of this tenant end, or ask an administrator for a higher limit."
	})
	w.gpuPod("c", "bob", "", 1)
	w.await("c hears why it waits", func() bool {
		return strings.Contains(w.unscheduled("c"), "tenant bob, GPU type T4: 1 GPU requested, but the limit is 0 GPUs")
	})
	w.end("a")
	w.await("b is bound", func() bool { return w.given()["b"] != "" })
	for _, name := range []string{"d", "e"} {
		pod := pendingPod(name, "600m", "")
		pod.Labels = map[string]string{v1alpha1.LabelTenant: "bob"}
		w.create(pod)
		if name == "d" {
			w.await("d is bound", func() bool { return w.isBound("d") })
		}
	}
	w.await("e hears why it waits", func() bool {
		return strings.Contains(w.unscheduled("e"), "tenant bob, CPUs: 0.6 CPUs requested, but 0.6 CPUs in use and the limit is 1 CPU")
	})
	w.end("d")
	w.await("e is bound", func() bool { return w.isBound("e") })
}

func (w *world) isBound(name string) bool {
	for _, pod := range w.pods() {
		if pod.Name == name {
			return pod.Spec.NodeName != ""
		}
	}
	return false
}

// TestExample checks an example with two nodes of four GPUs each, and with four pods that need 2,
// 1, 2 and 3 GPUs. With suitable GPU groups, all four pods must run, in each of four orders of
// creation.
func TestExample(t *testing.T) {
	for _, order := range [][]int64{{2, 1, 2, 3}, {1, 2, 2, 3}, {2, 2, 1, 3}, {3, 2, 1, 2}} {
		w := newWorld(t)
		w.permit("n1", "n2")
		w.gpuNode("n1", 4)
		w.gpuNode("n2", 4)
		w.group("g1", "", "n2=0,1")
		w.group("g2", "", "n1=3")
		w.group("g3", "", "n2=2,3")
		w.group("g4", "", "n1=0,1,2")
		w.start()
		for i, gpus := range order {
			w.gpuPod(fmt.Sprintf("p%d", i), "ann", "", gpus)
			w.await("it runs", func() bool { return w.isBound(fmt.Sprintf("p%d", i)) })
		}
		groups := map[string]bool{}
		for _, got := range w.given() {
			groups[strings.Fields(got)[0]] = true
		}
		if diff := cmp.Diff(map[string]bool{"g1": true, "g2": true, "g3": true, "g4": true}, groups); diff != "" {
			t.Errorf("order %v: groups (-want +got):\n%s", order, diff)
		}
	}
}
