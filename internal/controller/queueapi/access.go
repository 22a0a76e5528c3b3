package queueapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// In this ConfigMap the API server publishes how it identifies itself to aggregated APIs.
const (
	trustNamespace = "kube-system"
	trustName      = "extension-apiserver-authentication"
)

// Access says who calls, and what the caller may read.
//
// It accepts callers only through the API server's proxy, which has authenticated them. It trusts
// the headers of a request if the API server's front-proxy CA has signed the client certificate. It
// refuses tokens, so the controller needs no permission to review them.
//
// The library k8s.io/apiserver/pkg/server would do this and much more, with 250 more
// packages, among them a client of etcd and exporters of traces.
type Access struct {
	client kubernetes.Interface
	ca     *dynamiccertificates.ConfigMapCAController
	names  *headerrequest.RequestHeaderAuthRequestController
	caller authenticator.Request
}

// NewAccess returns an Access. It accepts nobody before Run is called.
func NewAccess(client kubernetes.Interface) (*Access, error) {
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController("front-proxy", trustNamespace, trustName, "requestheader-client-ca-file", client)
	if err != nil {
		return nil, fmt.Errorf("read the front-proxy CA: %w", err)
	}
	names := headerrequest.NewRequestHeaderAuthRequestController(trustName, trustNamespace, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix", "requestheader-allowed-names")
	caller := headerrequest.NewDynamicVerifyOptionsSecure(ca.VerifyOptions,
		headerrequest.StringSliceProviderFunc(names.AllowedClientNames), headerrequest.StringSliceProviderFunc(names.UsernameHeaders),
		headerrequest.StringSliceProviderFunc(names.UIDHeaders), headerrequest.StringSliceProviderFunc(names.GroupHeaders),
		headerrequest.StringSliceProviderFunc(names.ExtraHeaderPrefixes))
	return &Access{client, ca, names, caller}, nil
}

// Run follows changes of the ConfigMap until ctx ends.
func (a *Access) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { a.ca.Run(ctx, 1) })
	wg.Go(func() { a.names.Run(ctx, 1) })
	wg.Wait()
}

// Allow returns why the caller may not do something. Nil attributes mean discovery, which is open
// to everybody whom the API server has authenticated.
//
// The API server has already checked the caller with RBAC. Allow checks again, because a cluster
// may let other proxies use the front-proxy CA. Kubernetes recommends this check for every
// aggregated API.
func (a *Access) Allow(r *http.Request, wish *authorizationv1.ResourceAttributes) error {
	who, known, err := a.caller.AuthenticateRequest(r)
	if err != nil || !known {
		return apierrors.NewUnauthorized("this API takes requests from the API server only: use kubectl")
	}
	if wish == nil {
		return nil
	}
	allowed, err := a.review(r.Context(), who.User, wish)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("check whether %q may %s %s: %w", who.User.GetName(), wish.Verb, Resource, err))
	}
	if !allowed {
		return apierrors.NewForbidden(groupResource(), wish.Name, errors.New("ask for the role view in the namespace"))
	}
	return nil
}

func (a *Access) review(ctx context.Context, who user.Info, wish *authorizationv1.ResourceAttributes) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range who.GetExtra() {
		extra[key] = values
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra, ResourceAttributes: wish,
	}}
	done, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return done.Status.Allowed, nil
}
