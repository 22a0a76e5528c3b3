package cpuset_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

func TestParseMask(t *testing.T) {
	for name, tc := range map[string]struct {
		mask string
		want string
		bad  bool
	}{
		"empty":                 {mask: "", want: ""},
		"zero":                  {mask: "00000000,00000000", want: ""},
		"one group":             {mask: "0000000f\n", want: "0-3"},
		"short group":           {mask: "ff", want: "0-7"},
		"two groups":            {mask: "00000001,ffff0000", want: "16-32"},
		"three groups":          {mask: "1,00000000,00000000", want: "64"},
		"short first group":     {mask: "0000,00000088,88888888", want: "3,7,11,15,19,23,27,31,35,39"},
		"not hexadecimal":       {mask: "0-3", bad: true},
		"group beyond 32 bits":  {mask: "1ffffffff", bad: true},
		"empty group":           {mask: "1,,0", bad: true},
		"beyond the last CPU":   {mask: strings.Repeat("0,", 1<<16/32) + "1", bad: true},
		"as far as CPU 65535":   {mask: "80000000" + strings.Repeat(",0", 1<<16/32-1), want: "65535"},
		"list instead of mask":  {mask: "1-2,4", bad: true},
		"sign is no hexadecima": {mask: "+1", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cpuset.ParseMask(tc.mask)
			if (err != nil) != tc.bad {
				t.Fatalf("ParseMask(%q) error = %v, want error: %v", tc.mask, err, tc.bad)
			}
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("ParseMask(%q) (-want +got):\n%s", tc.mask, diff)
			}
		})
	}
}

// FuzzParseMask checks each set that ParseMask returns: ParseMask must read an equal set from the
// set's Mask.
func FuzzParseMask(f *testing.F) {
	for _, seed := range []string{"", "f", "00000001,ffff0000", "0,", "1ffffffff", "g"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, mask string) {
		set, err := cpuset.ParseMask(mask)
		if err != nil {
			return
		}
		again, err := cpuset.ParseMask(set.Mask())
		if err != nil || !again.Equal(set) {
			t.Errorf("ParseMask(%q) = %s, written and read again %s, %v", mask, set, again, err)
		}
	})
}

func TestMask(t *testing.T) {
	for list, want := range map[string]string{"": "0", "0": "00000001", "0-31": "ffffffff", "32": "00000001,00000000", "16-32,70": "00000040,00000001,ffff0000"} {
		if got := cpuset.MustParse(list).Mask(); got != want {
			t.Errorf("%q as a mask: %q, want %q", list, got, want)
		}
	}
}
