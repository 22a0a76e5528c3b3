package groups

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Answers count for less time than Keeper asks again after: a right for lasting, and
// the lack of one, which somebody may be mending, for brief.
const (
	lasting = 10 * time.Second
	brief   = time.Second
)

// Rights asks the API server's authorizer, RBAC as a rule, what tenants may do. A
// tenant is the group of users "numalet.dev:tenant:NAME". It may use a GPU where
// it has the verb "use" on the node's nodetopologies.numalet.dev, or on
// gpus.numalet.dev of the card's UUID. Rights serves one goroutine.
type Rights struct {
	client kubernetes.Interface
	now    func() time.Time
	known  map[question]answer
}

// question is whether a tenant may use something; no name is all of it.
type question struct{ tenant, resource, name string }

type answer struct {
	yes   bool
	until time.Time
}

// NewRights returns Rights that know nothing yet.
func NewRights(client kubernetes.Interface, now func() time.Time) *Rights {
	return &Rights{client, now, map[question]answer{}}
}

// May says whether a tenant may use a GPU of a node, given by its card's UUID.
func (r *Rights) May(ctx context.Context, tenant, node, id string) (bool, error) {
	for _, q := range []question{
		{tenant, v1alpha1.NodeTopologyResource().Resource, ""},
		{tenant, v1alpha1.NodeTopologyResource().Resource, node},
		{tenant, v1alpha1.ResourceGPUs, id},
	} {
		if yes, err := r.ask(ctx, q); yes || err != nil {
			return yes, err
		}
	}
	return false, nil
}

func (r *Rights) ask(ctx context.Context, q question) (bool, error) {
	if a, known := r.known[q]; known && r.now().Before(a.until) {
		return a.yes, nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   v1alpha1.TenantSubject(q.tenant),
		Groups: []string{v1alpha1.TenantSubject(q.tenant), "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: v1alpha1.VerbUse, Group: v1alpha1.Group, Resource: q.resource, Name: q.name,
		},
	}}
	done, err := r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether tenant %q may %s %s %q: %w", q.tenant, v1alpha1.VerbUse, q.resource, q.name, err)
	}
	r.forget()
	a := answer{done.Status.Allowed, r.now().Add(brief)}
	if a.yes {
		a.until = r.now().Add(lasting)
	}
	r.known[q] = a
	return a.yes, nil
}

// forget drops what is too old, once there is much.
func (r *Rights) forget() {
	if len(r.known) < 1<<14 {
		return
	}
	for q, a := range r.known {
		if !r.now().Before(a.until) {
			delete(r.known, q)
		}
	}
}
