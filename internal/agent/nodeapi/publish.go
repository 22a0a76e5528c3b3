package nodeapi

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/numalet/numalet/api/v1alpha1"
)

// publish creates the NodeTopology if it does not exist, and applies the parts of its status that
// have changed. In a new NodeTopology, it first writes what pods hold. Otherwise the controller could
// place pods on GPUs and CPUs before it knows that other pods hold them.
func (t *Topology) publish(ctx context.Context) error {
	current, found, err := t.current()
	if err != nil {
		return err
	}
	if !found {
		if err := t.create(ctx); err != nil {
			return err
		}
	}
	want := t.source.Status()
	want.Conditions = withTransitionTimes(current.Conditions, want.Conditions)
	before, err := split(current)
	if err != nil {
		return err
	}
	after, err := split(want)
	if err != nil {
		return err
	}
	if held := holders(after[1]); len(current.Conditions) == 0 && len(held.fields) > 0 {
		if err := t.apply(ctx, held); err != nil {
			return err
		}
	}
	for i, part := range after {
		if !found || !reflect.DeepEqual(part.fields, before[i].fields) {
			if err := t.apply(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// current returns the status of the NodeTopology in the informer's cache.
func (t *Topology) current() (s v1alpha1.NodeTopologyStatus, found bool, err error) {
	obj, found, err := t.informer.GetStore().GetByKey(t.source.Node)
	if err != nil || !found {
		return s, false, err
	}
	var all v1alpha1.NodeTopology
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object, &all); err != nil {
		return s, true, fmt.Errorf("decode NodeTopology %q: %w", t.source.Node, err)
	}
	return all.Status, true, nil
}

// withTransitionTimes returns the conditions in `want`. If the list `current` has a condition of
// the same type with the same status, the returned condition has the transition time from
// `current`.
func withTransitionTimes(current, want []metav1.Condition) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range want {
		if before := meta.FindStatusCondition(current, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
		out = append(out, c)
	}
	return out
}

// create creates the NodeTopology with the Node as its owner, so that the NodeTopology is deleted
// when the Node is deleted. The status is a subresource, which the caller must apply after the
// creation.
func (t *Topology) create(ctx context.Context) error {
	node, err := t.source.Client.CoreV1().Nodes().Get(ctx, t.source.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node %q, the owner of the NodeTopology: %w", t.source.Node, err)
	}
	obj := t.named()
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}})
	if _, err := t.object.Apply(ctx, t.source.Node, obj, metav1.ApplyOptions{FieldManager: Component, Force: true}); err != nil {
		return fmt.Errorf("create NodeTopology %q: %w", t.source.Node, err)
	}
	return nil
}

func (t *Topology) apply(ctx context.Context, p part) error {
	obj := t.named()
	obj.Object["status"] = p.fields
	if _, err := t.object.ApplyStatus(ctx, t.source.Node, obj, metav1.ApplyOptions{FieldManager: p.manager, Force: true}); err != nil {
		return fmt.Errorf("apply the status of NodeTopology %q as %s: %w", t.source.Node, p.manager, err)
	}
	return nil
}

func (t *Topology) named() *unstructured.Unstructured {
	var obj unstructured.Unstructured
	obj.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("NodeTopology"))
	obj.SetName(t.source.Node)
	return &obj
}

// part has the fields of a status that one field manager applies. Each request must have all fields
// of its manager, because server-side apply removes a field that a request of its manager leaves
// out. The agent uses two managers, so that it can send the fields that change with every pod
// without the fields that rarely change.
type part struct {
	manager string
	fields  map[string]any
}

// split divides a status into two parts. The first has the fields that rarely change: machine,
// capacity, conditions and GPUs. The second has the fields that change with pods: the available
// CPUs and memory of each NUMA node, and the pods with exclusive CPUs or GPUs.
func split(s v1alpha1.NodeTopologyStatus) ([]part, error) {
	lasting, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	changing := map[string]any{}
	move(lasting, changing, holderFields...)
	if cpus, ok := lasting["cpus"].(map[string]any); ok {
		changing["cpus"] = available(cpus)
	}
	if numa, ok := lasting["numa"].([]any); ok {
		var nodes []any
		for _, n := range numa {
			node := n.(map[string]any)
			changing := available(node)
			changing["id"] = node["id"]
			nodes = append(nodes, changing)
		}
		changing["numa"] = nodes
	}
	return []part{{Component, lasting}, {Component + "-available", changing}}, nil
}

// holderFields are the fields of a status that say what pods hold.
var holderFields = []string{"pods", "gpuHolders"}

// holders returns the fields of the changing part that say what pods hold. Unlike the whole part,
// they are valid in a NodeTopology that has no other fields yet.
func holders(changing part) part {
	only := part{changing.manager, map[string]any{}}
	move(maps.Clone(changing.fields), only.fields, holderFields...)
	return only
}

// available moves the fields about available resources from the given map to a new map, which it
// returns.
func available(fields map[string]any) map[string]any {
	out := map[string]any{}
	move(fields, out, "available", "availableMemory")
	return out
}

func move(from, to map[string]any, names ...string) {
	for _, name := range names {
		if value, ok := from[name]; ok {
			to[name] = value
			delete(from, name)
		}
	}
}
