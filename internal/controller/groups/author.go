package groups

import (
	"context"
	"fmt"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// Authors tells which tenants and GPUs the author of a GPUGroup may use. The type Permissions
// implements it.
type Authors interface {
	UsesTenant(ctx context.Context, who Subject, tenant string) (bool, error)
	UsesGPU(ctx context.Context, who Subject, node, id string) (bool, error)
}

// author returns the user who wrote a group's spec. An admission policy records this user in
// annotations. The result `ok` is false if no user is recorded, because the group is older than the
// policy, or the policy is not installed.
func author(object *v1alpha1.GPUGroup) (who Subject, ok bool) {
	who.User, ok = object.Annotations[v1alpha1.AnnotationAuthor]
	who.Groups = object.Annotations[v1alpha1.AnnotationAuthorGroups]
	return who, ok
}

// authorLacks checks whether the author of a group's new spec may use the tenants and GPUs in this
// spec. It returns a message if the author lacks a permission, and otherwise "". It also checks the
// tenants and GPUs of the older spec that is still in force. Otherwise an author could remove
// tenants and GPUs of others from the group. A removed tenant would lose the GPUs of the group, and
// a removed GPU would be open to everybody. The author needs these permissions only when the spec is
// accepted. So the group stays in force even if the account of its author is deleted later.
func (r *Registry) authorLacks(ctx context.Context, object *v1alpha1.GPUGroup, nodes group.Nodes) (string, error) {
	who, recorded := author(object)
	if !recorded || r.deps.Authors == nil {
		return "", nil
	}
	forms := []*v1alpha1.GPUGroup{object}
	if last := r.lastInForce(object); last != nil {
		forms = append(forms, inForm(object, last))
	}
	for _, form := range forms {
		lacks, err := r.formLacks(ctx, who, Read(form), nodes)
		if lacks != "" || err != nil {
			return lacks, err
		}
	}
	return "", nil
}

// formLacks returns a message about the first tenant or GPU of the group g that the given user may
// not use. It returns "" if this user may use them all.
func (r *Registry) formLacks(ctx context.Context, who Subject, g group.Group, nodes group.Nodes) (lacks string, failed error) {
	for _, tenant := range g.Tenants {
		ok, err := r.deps.Authors.UsesTenant(ctx, who, tenant)
		if err != nil {
			return "", err
		}
		if !ok {
			return refuseAuthor(g, who, fmt.Sprintf("tenant %q", tenant)), nil
		}
	}
	group.Check(g, nodes, func(node, id string) bool {
		if lacks != "" || failed != nil {
			return true // ask no more: only the first GPU without permission, or the first error, is reported
		}
		ok, err := r.deps.Authors.UsesGPU(ctx, who, node, id)
		if failed = err; !ok && err == nil {
			lacks = refuseAuthor(g, who, fmt.Sprintf("GPU %q of node %q", id, node))
		}
		return true
	})
	return lacks, failed
}

func refuseAuthor(g group.Group, who Subject, what string) string {
	return fmt.Sprintf("group %q: its author, user %q, may not use %s: ask an administrator for the verb use on it, or to write the group", g.Name, who.User, what)
}
