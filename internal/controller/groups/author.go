package groups

import (
	"context"
	"fmt"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// Authors answers what the authors of groups may do. Permissions implements it.
type Authors interface {
	UsesTenant(ctx context.Context, who Subject, tenant string) (bool, error)
	UsesGPU(ctx context.Context, who Subject, node, id string) (bool, error)
}

// author returns the author of a group's spec, whom the admission policies record. ok is false if
// no author is recorded, because the group is older than the policies or they are not installed.
func author(object *v1alpha1.GPUGroup) (who Subject, ok bool) {
	who.User, ok = object.Annotations[v1alpha1.AnnotationAuthor]
	who.Groups = object.Annotations[v1alpha1.AnnotationAuthorGroups]
	return who, ok
}

// authorLacks returns a message about what the author of a new form of a group may not use, or "".
// It also checks the tenants and GPUs of the form in force, because everybody can use a GPU that
// leaves its group. The author needs the permissions only when a form is accepted: a group outlives
// the account of its author.
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

// formLacks returns a message about the first tenant or GPU of a form that its author may not use,
// or "".
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
			return true // the first one is enough
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
