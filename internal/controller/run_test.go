package controller

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/internal/testutil/scrapetest"
)

// TestNotReadyOnOldVersion checks that the controller is not ready if the API server does not serve
// ResourceClaims of resource.k8s.io/v1, as is the case before Kubernetes 1.34. The controller
// places no pods in such a cluster.
func TestNotReadyOnOldVersion(t *testing.T) {
	w := newWorld(t)
	w.client.PrependReactor("list", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), "")
	})
	w.start()
	w.await("only ResourceClaims are missing", func() bool {
		status, body := scrapetest.Get(t, "http://"+w.controller.health.Addr()+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "has not listed any ResourceClaim yet")
	})
}

// TestLeaderWithoutState checks a replica that leads, but that cannot list all objects, for example
// because it is newer than its RBAC rules. It must end, so that another replica can lead.
func TestLeaderWithoutState(t *testing.T) {
	for name, tc := range map[string]struct {
		after time.Duration // the process is told to end after this time
		want  string        // part of the error; "" for no error
	}{
		"it never lists them":               {time.Hour, "another replica must lead: the API server has not listed them all yet"},
		"it is told to end before its time": {stateTimeout - time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &controller{log: logr.Discard(), factory: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}
				c.synced = append(c.synced, func() bool { return false })
				ctx, cancel := context.WithTimeout(t.Context(), tc.after)
				defer cancel()
				err := c.lead(ctx)
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("lead = %v, want %q", err, tc.want)
				}
			})
		})
	}
}
