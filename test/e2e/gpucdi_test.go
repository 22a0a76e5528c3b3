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

// gpuCDI allocates GPUs as CDI devices to a container that requests them as two resources.
// The CDI specification only identifies the GPUs.
func gpuCDI(ctx context.Context, t *testing.T) {
	spec := filepath.Join(t.TempDir(), "fake.json")
	must(t, os.WriteFile(spec, specification(append(wholeGPUs(), smallSlices()...)), 0o644))
	_, err := cluster.Shell(ctx, "mkdir -p /etc/cdi")
	must(t, err)
	must(t, cluster.Copy(ctx, spec, "/etc/cdi/fake.json"))
	configure(ctx, t, "NUMALET_GPU_CDI_KIND=nvidia.com/gpu")
	pod := place(ctx, t, ofTenant(gpuPod("cdi", time.Hour, map[string]int{whole: 1, small: 1}), ""))
	checkVisible(ctx, t, pod)
}

// specification returns a CDI specification by which a container finds, of each
// device that it gets, a variable with its name.
// https://github.com/cncf-tags/container-device-interface/blob/v1.1.0/SPEC.md
func specification(ids []string) []byte {
	var devices []string
	for i, id := range ids {
		devices = append(devices, fmt.Sprintf(`{"name": %q, "containerEdits": {"env": ["CDI_%d=%s"]}}`, id, i, id))
	}
	return fmt.Appendf(nil, `{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [%s]}`, strings.Join(devices, ", "))
}

// smallSlices returns the slices of the profile small.
func smallSlices() []string {
	return []string{"MIG-fa4e0709-0000-0000-0000-000000000000", "MIG-fa4e070a-0000-0000-0000-000000000000"}
}
