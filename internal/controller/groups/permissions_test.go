package groups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// silentAPI is an API server that permits the tenant ann everything. It never answers questions
// about other tenants, for example because its authorization webhook hangs.
type silentAPI struct {
	kubernetes.Interface
	asked int
}

func (a *silentAPI) AuthorizationV1() authorizationclient.AuthorizationV1Interface {
	return silentAuthorization{api: a}
}

type silentAuthorization struct {
	authorizationclient.AuthorizationV1Interface
	api *silentAPI
}

func (a silentAuthorization) SubjectAccessReviews() authorizationclient.SubjectAccessReviewInterface {
	return silentReviews{api: a.api}
}

type silentReviews struct {
	authorizationclient.SubjectAccessReviewInterface
	api *silentAPI
}

func (r silentReviews) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	r.api.asked++
	if review.Spec.User == tenantSubject("ann").User {
		review.Status.Allowed = true
		return review, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestUnanswered checks how long Permissions waits for an API server that does not answer, and when
// Permissions asks the same question again. Other questions must still be asked.
func TestUnanswered(t *testing.T) {
	type outcome struct {
		Allowed, Failed bool
		Asked           int
		Took            time.Duration
	}
	synctest.Test(t, func(t *testing.T) {
		api := &silentAPI{}
		p := NewPermissions(api, time.Now)
		for _, step := range []struct {
			what, tenant, gpu string
			after             time.Duration
			want              outcome
		}{
			{"the first GPU", "bob", "0", 0, outcome{Failed: true, Asked: 1, Took: reviewTimeout}},
			{"the second GPU of the same tenant", "bob", "1", 0, outcome{Failed: true}},
			{"a tenant with an answer", "ann", "0", 0, outcome{Allowed: true, Asked: 1}},
			{"another tenant", "eve", "0", 0, outcome{Failed: true, Asked: 1, Took: hangingTimeout}},
			{"the first GPU again", "bob", "0", unansweredTTL, outcome{Failed: true, Asked: 1, Took: reviewTimeout}},
		} {
			time.Sleep(step.after)
			api.asked = 0
			start := time.Now()
			allowed, err := p.Allowed(t.Context(), step.tenant, "n", step.gpu)
			if diff := cmp.Diff(step.want, outcome{allowed, err != nil, api.asked, time.Since(start)}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.what, diff)
			}
		}
	})
}
