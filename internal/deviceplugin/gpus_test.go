package deviceplugin

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/testutil/runtest"
	"github.com/numalet/numalet/pkg/gpu"
)

// TestListWhenGroupsAreKnown checks that the devices are listed again when the GPU groups are known,
// and not before.
func TestListWhenGroupsAreKnown(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{v1alpha1.GPUGroupResource(): "GPUGroupList"})
	groups, err := nodeapi.NewGroups(client)
	if err != nil {
		t.Fatal(err)
	}
	listed := make(chan bool, 1)
	g := &gpuPublisher{groups: groups, changed: func() {
		_, known := groups.Reserved("n", &gpu.Inventory{}, "a")
		listed <- known
	}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.listWhenGroupsAreKnown(ended); err != nil || len(listed) > 0 {
		t.Errorf("before the groups are known: %v, %d lists", err, len(listed))
	}
	runtest.Run(t, groups)
	if err := g.listWhenGroupsAreKnown(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case known := <-listed:
		if !known {
			t.Error("the devices were listed before the groups were known")
		}
	case <-time.After(time.Minute):
		t.Error("the devices were not listed")
	}
}
