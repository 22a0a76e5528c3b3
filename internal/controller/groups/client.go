package groups

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// Client reads custom resources with the permissions of one user. If the user may list the objects
// of a kind, Client lists them all. Otherwise it reads only the objects that the user's roles name
// (resourceNames).
type Client struct {
	client  kubernetes.Interface
	objects dynamic.Interface
}

// NewClient returns a client that uses the credentials of config.
func NewClient(config *rest.Config) (*Client, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	return &Client{client, objects}, nil
}

// Groups returns the groups with the given names, or without names all groups that the user may read.
func (c *Client) Groups(ctx context.Context, names ...string) ([]v1alpha1.GPUGroup, error) {
	return read[v1alpha1.GPUGroup](ctx, c, v1alpha1.GPUGroupResource(), names)
}

// Tenants returns the tenants with the given names, or without names all tenants that the user may
// read.
func (c *Client) Tenants(ctx context.Context, names ...string) ([]v1alpha1.Tenant, error) {
	return read[v1alpha1.Tenant](ctx, c, v1alpha1.TenantResource(), names)
}

// Topologies returns the NodeTopologies with the given names, or without names all NodeTopologies that
// the user may read.
func (c *Client) Topologies(ctx context.Context, names ...string) ([]v1alpha1.NodeTopology, error) {
	return read[v1alpha1.NodeTopology](ctx, c, v1alpha1.NodeTopologyResource(), names)
}

// Free returns the GPUs that the user may put into a new group. The user may read and use these
// GPUs, and they are in none of the given groups.
func (c *Client) Free(ctx context.Context, existing []v1alpha1.GPUGroup) (group.Nodes, error) {
	topologies, err := c.Topologies(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := c.rules(ctx)
	if err != nil {
		return nil, err
	}
	nodes := group.Nodes{}
	for i := range topologies {
		nodes[topologies[i].Name] = Inventory(&topologies[i])
	}
	var groups []group.Group
	for i := range existing {
		groups = append(groups, Read(&existing[i]))
	}
	grouping := group.New(groups, nodes)
	return nodes.For(func(node, id string) bool {
		return !grouping.Holds(node, id) && (rules.allow(v1alpha1.NodeTopologyResource().Resource, node) || rules.allow(v1alpha1.ResourceGPUs, id))
	}), nil
}

// read returns the objects of a kind that have the given names, or without names those that the user
// may read. If an object with one of the names does not exist, or if the user may not read it, the
// error says so.
func read[T any](ctx context.Context, c *Client, kind schema.GroupVersionResource, names []string) ([]T, error) {
	if len(names) == 0 {
		return listVisible[T](ctx, c, kind)
	}
	var items []unstructured.Unstructured
	for _, name := range names {
		one, err := c.objects.Resource(kind).Get(ctx, name, metav1.GetOptions{})
		switch {
		case isObjectMissing(err) || apierrors.IsForbidden(err):
			return nil, fmt.Errorf("there is no %q, or you may not see it", name)
		case err != nil:
			return nil, fmt.Errorf("get %s %q: %w", kind.Resource, name, err)
		}
		items = append(items, *one)
	}
	return typed[T](items)
}

// isObjectMissing reports whether an error means that an object does not exist. It returns false if the
// API server does not know the kind of the object: then the answer is no Status object.
func isObjectMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// listVisible returns the objects of a kind that the user may read.
func listVisible[T any](ctx context.Context, c *Client, kind schema.GroupVersionResource) ([]T, error) {
	list, err := c.objects.Resource(kind).List(ctx, metav1.ListOptions{})
	if err == nil {
		return typed[T](list.Items)
	}
	if !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
	}
	rules, refused := c.rules(ctx)
	if refused != nil {
		return nil, refused
	}
	var items []unstructured.Unstructured
	for _, name := range rules.named("get", kind.Resource) {
		one, err := c.objects.Resource(kind).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("get %s %q: %w", kind.Resource, name, err)
		}
		if err == nil {
			items = append(items, *one)
		}
	}
	return typed[T](items)
}

func typed[T any](items []unstructured.Unstructured) ([]T, error) {
	objects := make([]T, len(items))
	for i := range items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &objects[i]); err != nil {
			return nil, fmt.Errorf("read %s %q: %w", items[i].GetKind(), items[i].GetName(), err)
		}
	}
	return objects, nil
}

// rules are the permissions of a user, as the API server returns them.
type rules []authorizationv1.ResourceRule

func (c *Client) rules(ctx context.Context) (rules, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault}}
	done, err := c.client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("review your permissions: %w", err)
	}
	return done.Status.ResourceRules, nil
}

// allow reports whether the rules grant the verb "use" on the object that has the given resource
// and name.
func (r rules) allow(resource, name string) bool {
	return slices.ContainsFunc(r.granting(v1alpha1.VerbUse, resource), func(rule authorizationv1.ResourceRule) bool {
		return len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name)
	})
}

// named returns the names of the objects on which rules with resourceNames grant a verb. It
// returns each name once.
func (r rules) named(verb, resource string) []string {
	var names []string
	for _, rule := range r.granting(verb, resource) {
		names = append(names, rule.ResourceNames...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// granting returns the rules that grant a verb on a resource.
func (r rules) granting(verb, resource string) (granting []authorizationv1.ResourceRule) {
	for _, rule := range r {
		if matches(rule.APIGroups, v1alpha1.Group) && matches(rule.Verbs, verb) && matches(rule.Resources, resource) {
			granting = append(granting, rule)
		}
	}
	return granting
}

// matches reports whether a list in a rule (its API groups, verbs or resources) has the given
// string or the wildcard "*".
func matches(list []string, word string) bool {
	return slices.Contains(list, word) || slices.Contains(list, "*")
}
