package controller

import (
	"net/http"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
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
