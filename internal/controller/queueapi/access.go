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

// trustNamespace and trustName are the namespace and the name of a ConfigMap. In it, the API server
// publishes the CA of the client certificate that it uses for requests to aggregated APIs (the
// front-proxy CA), and the names that this certificate may have.
const (
	trustNamespace = "kube-system"
	trustName      = "extension-apiserver-authentication"
)

// Access authenticates the callers of the queue API, and checks what they may read.
//
// Access accepts only requests that the API server forwards. The API server has already
// authenticated the user, and names the user in headers. Access trusts these headers if the client
// certificate of the request is signed by the front-proxy CA of the API server, and has one of the
// allowed names. Access refuses bearer tokens, so the controller needs no permission for
// TokenReviews.
//
// The library k8s.io/apiserver/pkg/server could replace Access, but it would add 250 packages to
// the program, among them a client of etcd and exporters of traces.
type Access struct {
	client kubernetes.Interface
	ca     *dynamiccertificates.ConfigMapCAController
	names  *headerrequest.RequestHeaderAuthRequestController
	caller authenticator.Request
}

// NewAccess returns an Access, which refuses all requests until Run is called.
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

// Run reads the ConfigMap trustName, from which it learns the front-proxy CA, and follows changes
// of the ConfigMap until ctx is done.
func (a *Access) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { a.ca.Run(ctx, 1) })
	wg.Go(func() { a.names.Run(ctx, 1) })
	wg.Wait()
}

// Allow returns an error if the API server did not forward a request, or if the user who sent it
// may not do what the parameter `wish` says. If `wish` is nil, the request is for API discovery,
// which is open to all users whom the API server has authenticated.
//
// The API server has already authorized the user. Allow asks the API server again, because a
// cluster may allow other proxies than the API server to use the front-proxy CA, and such a proxy
// may forward requests without checking permissions. Kubernetes recommends this check for
// aggregated APIs.
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
