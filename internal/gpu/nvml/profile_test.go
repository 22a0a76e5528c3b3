//go:build cgo

package nvml

import "testing"

func TestProfile(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA H100 80GB HBM3 MIG 1g.10gb":    "1g.10gb",
		"NVIDIA A100-SXM4-40GB MIG 1c.2g.10gb": "1c.2g.10gb",
		"NVIDIA A100-SXM4-40GB MIG 1g.5gb+me":  "1g.5gb+me",
		"NVIDIA A100-SXM4-40GB":                "",
	} {
		got, err := profile(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("profile(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
}
