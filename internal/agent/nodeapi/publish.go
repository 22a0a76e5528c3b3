package nodeapi

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/numalet/numalet/api/v1alpha1"
)

// publish makes the object if there is none, and applies the parts of its
// status that differ.
func (t *Topology) publish(ctx context.Context) error {
	have, found, err := t.have()
	if err != nil {
		return err
	}
	if !found {
		if err := t.create(ctx); err != nil {
			return err
		}
	}
	want := t.source.Status()
	want.Conditions = settled(have.Conditions, want.Conditions)
	before, err := split(have)
	if err != nil {
		return err
	}
	now, err := split(want)
	if err != nil {
		return err
	}
	for i, part := range now {
		if !found || !reflect.DeepEqual(part.fields, before[i].fields) {
			if err := t.apply(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// have returns the status that the API server told of last.
func (t *Topology) have() (s v1alpha1.NodeTopologyStatus, found bool, err error) {
	obj, found, err := t.informer.GetStore().GetByKey(t.source.Node)
	if err != nil || !found {
		return s, false, err
	}
	var all v1alpha1.NodeTopology
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object, &all); err != nil {
		return s, true, fmt.Errorf("read NodeTopology %s: %w", t.source.Node, err)
	}
	return all.Status, true, nil
}

// settled returns the conditions with the time since which each is as it is.
func settled(have, want []metav1.Condition) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range want {
		if before := meta.FindStatusCondition(have, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
		out = append(out, c)
	}
	return out
}

// create makes the object, so that it goes when its Node goes. The status is a
// subresource, and comes after.
func (t *Topology) create(ctx context.Context) error {
	node, err := t.source.Client.CoreV1().Nodes().Get(ctx, t.source.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node %q, to own its NodeTopology: %w", t.source.Node, err)
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
