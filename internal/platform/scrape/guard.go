package scrape

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// remembered is how long a permission stays in force after the API server has confirmed it.
	remembered = time.Minute
	// timeout limits how long a request waits for the API server.
	timeout = 10 * time.Second
	// qps and burst limit the reviews that a guard requests. Everybody on the network can send
	// requests with an invalid token, and each of these requests costs a TokenReview.
	qps   = 10
	burst = 20
)

// guard asks the API server which user sent a request, and whether this user may send it.
type guard struct {
	client  kubernetes.Interface
	log     logr.Logger
	allowed *cache.Expiring // permissions that the API server has confirmed. It has no refusals, of which there can be any number.
}

// permission is what the API server has confirmed: a user with this token may send this request.
type permission struct {
	token      [sha256.Size]byte // the token's hash, so that the token itself does not stay in memory
	verb, path string
}

// newGuard returns a guard with a client of its own. Otherwise requests with an invalid token could
// use up the rate limit of the program's other requests.
func newGuard(api *rest.Config, log logr.Logger) (*guard, error) {
	api = rest.CopyConfig(api)
	api.QPS, api.Burst, api.RateLimiter = qps, burst, nil
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", api.Host, err)
	}
	return &guard{client, log, cache.NewExpiring()}, nil
}

// withClock makes the guard use another clock. Only tests need one.
func (g *guard) withClock(c clock.Clock) *guard {
	g.allowed = cache.NewExpiringWithClock(c)
	return g
}

// wrap returns a handler that passes on only those requests that the API server allows.
func (g *guard) wrap(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := bearer(r)
		if !ok {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		asked := permission{sha256.Sum256([]byte(token)), strings.ToLower(r.Method), r.URL.Path}
		if _, ok := g.allowed.Get(asked); !ok {
			if status, reason := g.review(r.Context(), token, asked); status != http.StatusOK {
				http.Error(w, reason, status)
				return
			}
			g.allowed.Set(asked, true, remembered)
		}
		handler.ServeHTTP(w, r)
	})
}

// bearer returns the token in the header Authorization of a request.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// review asks the API server about a request. It returns http.StatusOK if the API server allows the
// request, or else the status and the text of the answer to the client.
func (g *guard) review(ctx context.Context, token string, asked permission) (status int, reason string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	who, err := g.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		g.log.Error(err, "cannot authenticate a request for metrics")
		return http.StatusInternalServerError, "Authentication failed"
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, "Unauthorized"
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: asked.verb, Path: asked.path},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		g.log.Error(err, "cannot authorize a request for metrics", "user", user.Username)
		return http.StatusInternalServerError, "Authorization for user " + user.Username + " failed"
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, "Authorization denied for user " + user.Username
	}
	return http.StatusOK, ""
}
