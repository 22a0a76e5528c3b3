package e2eutil

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHolders(t *testing.T) {
	const text = "default/a main nvidia.com/gpu GPU-1\ndefault/a main nvidia.com/gpu GPU-0\ndefault/b main nvidia.com/gpu GPU-1\nkube-system/c main nvidia.com/gpu GPU-1\n"
	all, err := parseHolders(text, "default")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, h := range all {
		got[h.Pod+" "+h.Container+" "+h.Resource] = h.IDs
	}
	want := map[string][]string{"a main nvidia.com/gpu": {"GPU-0", "GPU-1"}, "b main nvidia.com/gpu": {"GPU-1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holdings (-want +got):\n%s", diff)
	}
	if twice := GivenTwice(all); len(twice) != 1 {
		t.Errorf("given twice: %v, want GPU-1", twice)
	}
	if _, err := parseHolders("default/a main\n", "default"); err == nil {
		t.Error("half a line was read")
	}
}
