package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
)

// allowedTTL and deniedTTL are how long Permissions caches answers of the API server. A Registry
// checks the permissions again every recheckInterval, or every refusedRecheckInterval while a group
// is not accepted. allowedTTL is shorter than recheckInterval, so after recheckInterval all answers
// are new. deniedTTL is shorter than refusedRecheckInterval, so after refusedRecheckInterval the
// answers about denied permissions are new. A refusal is cached for a shorter time than a
// permission, because an administrator may be about to grant the permission.
const (
	allowedTTL = 10 * time.Second
	deniedTTL  = time.Second
)

const (
	// reviewTimeout is how long Permissions waits for one answer of the API server. Without a limit,
	// an authorization webhook that does not answer would keep a Registry from checking all groups.
	reviewTimeout = 10 * time.Second
	// If an answer did not come within reviewTimeout, Permissions waits only for hangingTimeout for each
	// answer in the next unansweredTTL. Otherwise a Registry would wait for reviewTimeout at each tenant.
	// A new leader is ready within its 5 minutes if at most 100 tenants get no answer, instead of 30.
	hangingTimeout = 2 * time.Second
	// A question without an answer is asked again after unansweredTTL. Otherwise a Registry would wait
	// for reviewTimeout at each GPU of a tenant, because the first question about each of these GPUs
	// is the same.
	unansweredTTL = time.Minute
)

// Permissions asks the API server's authorizer, usually RBAC, what tenants and users may do. In
// RBAC, a tenant is the user group "numalet.dev:tenant:NAME". A tenant or user may use all GPUs of
// a node if it has the verb "use" on the node's NodeTopology (resource nodetopologies.numalet.dev).
// It may also use a single GPU if it has this verb on the resource gpus.numalet.dev with the UUID
// of the GPU as the name. A user may name a tenant in a GPUGroup if the user has the verb "use" on
// the tenant's Tenant object (resource tenants.numalet.dev). Only one goroutine at a time may use
// Permissions.
type Permissions struct {
	client kubernetes.Interface
	now    func() time.Time
	cache  map[permission]answer
	hangs  time.Time // until this time, the API server counts as hanging (hangingTimeout)
}

// Subject is a user with its user groups. The field Groups has one user group in each line.
type Subject struct{ User, Groups string }

// tenantSubject returns the user name and the user groups for which RBAC is asked when the
// permissions of a tenant are checked.
func tenantSubject(tenant string) Subject {
	name := v1alpha1.TenantSubject(tenant)
	return Subject{name, name + "\nsystem:authenticated"}
}

// permission is a subject's permission to use one object of a resource, or all objects if `name` is
// "".
type permission struct {
	subject        Subject
	resource, name string
}

type answer struct {
	allowed bool
	err     error // not nil if the API server did not answer in time
	expires time.Time
}

// NewPermissions returns Permissions with an empty cache.
func NewPermissions(client kubernetes.Interface, now func() time.Time) *Permissions {
	return &Permissions{client: client, now: now, cache: map[permission]answer{}}
}

// Allowed reports whether a tenant may use a GPU of a node. The parameter `id` is the UUID of the
// GPU.
func (p *Permissions) Allowed(ctx context.Context, tenant, node, id string) (bool, error) {
	return p.UsesGPU(ctx, tenantSubject(tenant), node, id)
}

// UsesGPU reports whether a subject may use a GPU of a node.
func (p *Permissions) UsesGPU(ctx context.Context, who Subject, node, id string) (bool, error) {
	return p.any(ctx,
		permission{who, v1alpha1.NodeTopologyResource().Resource, ""},
		permission{who, v1alpha1.NodeTopologyResource().Resource, node},
		permission{who, v1alpha1.ResourceGPUs, id})
}

// UsesTenant reports whether a subject may name a tenant in a GPUGroup.
func (p *Permissions) UsesTenant(ctx context.Context, who Subject, tenant string) (bool, error) {
	return p.any(ctx,
		permission{who, v1alpha1.TenantResource().Resource, ""},
		permission{who, v1alpha1.TenantResource().Resource, tenant})
}

// The method `any` reports whether a subject has one of several permissions.
func (p *Permissions) any(ctx context.Context, permissions ...permission) (bool, error) {
	for _, q := range permissions {
		if allowed, err := p.check(ctx, q); allowed || err != nil {
			return allowed, err
		}
	}
	return false, nil
}

// check reports whether a subject has a permission. It answers from the cache, or asks the API
// server.
func (p *Permissions) check(ctx context.Context, q permission) (bool, error) {
	if a, known := p.cache[q]; known && p.now().Before(a.expires) {
		return a.allowed, a.err
	}
	timeout := reviewTimeout
	if p.now().Before(p.hangs) {
		timeout = hangingTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	allowed, err := p.review(ctx, q)
	switch {
	case err == nil && allowed:
		p.keep(q, answer{allowed: true}, allowedTTL)
	case err == nil:
		p.keep(q, answer{}, deniedTTL)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.keep(q, answer{err: err}, unansweredTTL)
		if timeout == reviewTimeout {
			p.hangs = p.now().Add(unansweredTTL)
		}
	}
	return allowed, err
}

// review asks the API server whether a subject has a permission.
func (p *Permissions) review(ctx context.Context, q permission) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   q.subject.User,
		Groups: strings.Split(q.subject.Groups, "\n"),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: v1alpha1.VerbUse, Group: v1alpha1.Group, Resource: q.resource, Name: q.name,
		},
	}}
	done, err := p.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("check whether %q may %s %s %q: %w", q.subject.User, v1alpha1.VerbUse, q.resource, q.name, err)
	}
	return done.Status.Allowed, nil
}

// keep puts an answer into the cache.
func (p *Permissions) keep(q permission, a answer, ttl time.Duration) {
	p.evict()
	a.expires = p.now().Add(ttl)
	p.cache[q] = a
}

// evict removes expired answers if the cache is large.
func (p *Permissions) evict() {
	if len(p.cache) < 1<<14 {
		return
	}
	for q, a := range p.cache {
		if !p.now().Before(a.expires) {
			delete(p.cache, q)
		}
	}
}
