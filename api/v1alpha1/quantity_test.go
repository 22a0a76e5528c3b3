package v1alpha1

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAmount(t *testing.T) {
	for text, want := range map[string]struct{ units, milli int64 }{
		"0":                    {0, 0},
		"1":                    {1, 1000},
		"1500m":                {2, 1500},
		"1n":                   {1, 1},
		"-2":                   {-2, -2000},
		"1Pi":                  {MaxAmount, MaxAmount},
		"1125899906842623":     {MaxAmount - 1, MaxAmount},
		"1125899906842623m":    {1125899906843, MaxAmount - 1},
		"9223372036854775":     {MaxAmount, MaxAmount},
		"9223372036854776":     {MaxAmount, MaxAmount}, // the number of thousandths needs 64 bits, so it is negative as an int64
		"18446744073709552":    {MaxAmount, MaxAmount}, // the number of thousandths needs 65 bits, and its low 64 bits are a small number
		"9223372036854775807":  {MaxAmount, MaxAmount},
		"1e30":                 {MaxAmount, MaxAmount},
		"-9223372036854775807": {-MaxAmount, -MaxAmount},
	} {
		quantity := resource.MustParse(text)
		if got := Amount(quantity); got != want.units {
			t.Errorf("Amount(%s) = %d, want %d", text, got, want.units)
		}
		if got := MilliAmount(quantity); got != want.milli {
			t.Errorf("MilliAmount(%s) = %d, want %d", text, got, want.milli)
		}
	}
}

// TestAmountOfSum checks that Amount returns MaxAmount for a sum of quantities that
// exceeds 64 bits.
func TestAmountOfSum(t *testing.T) {
	sum := resource.MustParse("9223372036854775807")
	sum.Add(resource.MustParse("9223372036854775807"))
	if got := Amount(sum); got != MaxAmount {
		t.Errorf("Amount(%s) = %d, want %d", &sum, got, int64(MaxAmount))
	}
}

func TestCheckAmount(t *testing.T) {
	for _, tc := range []struct {
		name corev1.ResourceName
		q    string
		want string
	}{
		{"cpu", "64", ""},
		{"memory", "1Pi", ""},
		{"cpu", "1125899906843", "the pod requests 1125899906843 of cpu, which is more than any node can have (at most 1125899906842624m is counted); request less"},
		{"nvidia.com/gpu", "9223372036854775807", "the pod requests 9223372036854775807 of nvidia.com/gpu, which is more than any node can have (at most 1125899906842624 is counted); request less"},
	} {
		got := ""
		if err := CheckAmount(tc.name, resource.MustParse(tc.q)); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s of %s: %q, want %q", tc.q, tc.name, got, tc.want)
		}
	}
}
