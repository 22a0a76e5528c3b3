package filter

import "testing"

// TestDimensionNames checks that ParseDimension accepts each of DimensionNames, types of GPUs and
// full names of resources, and that it refuses other names.
func TestDimensionNames(t *testing.T) {
	for _, name := range append(DimensionNames(), "gpus:H200", "gpu-share:H200", "gpu-total:H200", "nvidia.com/gpu", "ephemeral-storage") {
		if d, err := ParseDimension(name); err != nil || d.Name != name {
			t.Errorf("ParseDimension(%q) = %q, %v, want that name", name, d.Name, err)
		}
	}
	want := `parse dimension "gpu": want cpu, memory, pods, numa-total, numa-single, numa-spread, gpus, gpu-share, gpu-total or the full name of a resource`
	if _, err := ParseDimension("gpu"); err == nil || err.Error() != want {
		t.Errorf("ParseDimension(gpu): error %v, want %s", err, want)
	}
}
