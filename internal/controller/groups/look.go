package groups

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// look judges all groups as they were told last, puts those that are accepted in
// force, and says what became of each. Rights of groups in force are asked anew, or
// else only where nodes have changed.
func (k *Keeper) look(ctx context.Context, anew bool) {
	objects, nodes, moved := k.snapshot()
	var verdicts []Verdict
	var accepted []group.Group
	refused := map[string]string{}
	for _, object := range objects {
		v := k.judge(ctx, object, nodes, anew || moved)
		verdicts = append(verdicts, v)
		if v.Accepted {
			accepted = append(accepted, Read(object))
		} else {
			refused[v.Name] = v.Message
		}
	}
	now := &order{group.New(accepted, nodes), refused}
	if !reflect.DeepEqual(now, k.current.Load()) {
		k.current.Store(now)
		k.env.Changed(accepted)
	}
	k.say(verdicts, now.grouping)
}

// snapshot returns the groups by name, the nodes' GPUs, and whether these are others
// than the last time.
func (k *Keeper) snapshot() (objects []*v1alpha1.GPUGroup, nodes group.Nodes, moved bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	moved, k.mu.moved = k.mu.moved, false
	objects = slices.SortedFunc(maps.Values(k.mu.groups), func(a, b *v1alpha1.GPUGroup) int { return cmp.Compare(a.Name, b.Name) })
	return objects, maps.Clone(k.mu.nodes), moved
}

// judge says whether a group is in force; where it was and rights are not asked
// anew, it has them.
func (k *Keeper) judge(ctx context.Context, object *v1alpha1.GPUGroup, nodes group.Nodes, anew bool) Verdict {
	g, v := Read(object), Verdict{Name: object.Name, UID: object.UID, Generation: object.Generation}
	before := k.before(object)
	why := group.Check(g, nodes, nil)
	if before {
		why = slices.DeleteFunc(why, gone)
	}
	if len(why) > 0 {
		return v.refused(why)
	}
	if old := k.verdicts[object.Name]; !anew && old.Accepted && old.of(object) {
		v.Accepted = true
		return v
	}
	why, err := k.wronged(ctx, g, nodes)
	switch {
	case len(why) > 0:
		return v.refused(why)
	case err != nil && !before:
		v.Reason, v.Message = notChecked, err.Error()
		return v
	}
	v.Accepted = true
	return v
}

// before reports whether this version of a group was in force, as far as this
// keeper or the group itself knows.
func (k *Keeper) before(object *v1alpha1.GPUGroup) bool {
	if v, known := k.verdicts[object.Name]; known && v.of(object) {
		return v.Accepted
	}
	return object.Status.ObservedGeneration == object.Generation && meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionAccepted)
}

// gone reports whether a refusal is of what was there once. A group in force keeps
// what is left of it.
func gone(r *group.Refusal) bool {
	switch r.Reason {
	case group.UnknownNode, group.UnknownGPU, group.GPUElsewhere, group.WrongForm, group.WrongType:
		return true
	}
	return false
}

// wronged returns what tenants of a group have no right to; the error is that
// nobody knows of some.
func (k *Keeper) wronged(ctx context.Context, g group.Group, nodes group.Nodes) (why []*group.Refusal, failed error) {
	tenants := g.Tenants
	for _, tenant := range tenants {
		g.Tenants = []string{tenant}
		may := func(node, id string) bool {
			ok, err := k.env.May(ctx, tenant, node, id)
			failed = cmp.Or(failed, err)
			return ok || err != nil
		}
		for _, r := range group.Check(g, nodes, may) {
			if r.Reason == group.NoRight {
				why = append(why, r)
			}
		}
	}
	return why, failed
}

// say tells what is new of each group.
func (k *Keeper) say(verdicts []Verdict, grouping *group.Grouping) {
	before := k.verdicts
	k.verdicts = map[string]Verdict{}
	for _, v := range verdicts {
		if v.Accepted {
			v = v.accepted(grouping.Held(v.Name))
		}
		k.verdicts[v.Name] = v
		if old, known := before[v.Name]; !known || !reflect.DeepEqual(old, v) {
			k.env.Said(v)
		}
	}
}
