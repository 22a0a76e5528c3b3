//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gpuCDI checks that a container gets its GPUs as CDI devices (Container Device Interface). The
// container requests a whole GPU and a MIG slice, which are two resources. The CDI specification of
// the test only sets an environment variable for each device.
func gpuCDI(ctx context.Context, t *testing.T) {
	spec := filepath.Join(t.TempDir(), "fake.json")
	must(t, os.WriteFile(spec, specification(append(wholeGPUs(), smallSlices()...)), 0o644))
	_, err := cluster.Shell(ctx, "mkdir -p /etc/cdi")
	must(t, err)
	must(t, cluster.Copy(ctx, spec, "/etc/cdi/fake.json"))
	configure(ctx, t, "NUMALET_GPU_CDI_KIND=nvidia.com/gpu")
	pod := place(ctx, t, ofTenant(gpuPod("cdi", time.Hour, map[string]int{whole: 1, small: 1}), ""))
	checkVisible(ctx, t, pod, 2)
}

// specification returns a CDI specification. For each device that a container gets, the runtime
// sets an environment variable with the ID of the device.
// https://github.com/cncf-tags/container-device-interface/blob/v1.1.0/SPEC.md
func specification(ids []string) []byte {
	var devices []string
	for i, id := range ids {
		devices = append(devices, fmt.Sprintf(`{"name": %q, "containerEdits": {"env": ["CDI_%d=%s"]}}`, id, i, id))
	}
	return fmt.Appendf(nil, `{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [%s]}`, strings.Join(devices, ", "))
}

// smallSlices returns the IDs of the MIG slices of the profile 1g.10gb.
func smallSlices() []string {
	return []string{"MIG-fa4e0709-0000-0000-0000-000000000000", "MIG-fa4e070a-0000-0000-0000-000000000000"}
}
