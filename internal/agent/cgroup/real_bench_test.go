package cgroup

import (
	"testing"

	"github.com/numalet/numalet/pkg/cpuset"
)

// BenchmarkConfine measures Confine, which writes a cpuset and reads it back. It runs on the host's
// own kernel, and must run as root.
//
//	go test -run '^$' -bench Confine -count 10 ./internal/agent/cgroup | benchstat -
func BenchmarkConfine(b *testing.B) {
	cgroup, group := private(b)
	all, _, err := cgroup.Effective(group)
	if err != nil {
		b.Fatal(err)
	}
	first, _ := all.First()
	sets := []cpuset.Set{cpuset.Of(first), all}
	for i := 0; b.Loop(); i++ {
		if err := cgroup.Confine(b.Context(), group, exactly(sets[i%2])); err != nil {
			b.Fatal(err)
		}
	}
}
