package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRateLimitOfTheKubelet checks that calls of the pod resources API are repeated if the kubelet
// refuses them because of its rate limit. Without the list of pods, the device plugin could not
// find out for which pod the kubelet asks it to choose GPUs.
func TestRateLimitOfTheKubelet(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	kubelet.mu.allocated[whole] = []string{"a"}
	for name, tc := range map[string]struct {
		busy int
		list func() (devices []string, err error)
	}{
		"list of pods": {3, func() ([]string, error) {
			pods, err := ListDevices(t.Context(), root)
			if err != nil {
				return nil, err
			}
			return pods[0].Devices, nil
		}},
		"allocations": {4, func() (ids []string, err error) {
			now, err := readAllocations(t.Context(), podResourcesSocket(root))
			for id := range now.held[whole] {
				ids = append(ids, id)
			}
			return ids, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kubelet.mu.Lock()
			kubelet.mu.busy = tc.busy
			kubelet.mu.Unlock()
			got, err := tc.list()
			if diff := cmp.Diff([]string{"a"}, got); diff != "" || err != nil {
				t.Errorf("error %v, devices (-want +got):\n%s", err, diff)
			}
		})
	}
}
