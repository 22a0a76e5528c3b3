package filter

import (
	"testing"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// BenchmarkFit measures Check and Place for pods without and with GPUs, on a node
// without pods. The node has 64 CPUs, two NUMA nodes and eight GPUs, of which two are
// on each PCIe switch and four on each socket. To judge a change of the code, run the
// benchmark with -count 10 before and after the change. Compare the two outputs with
// golang.org/x/perf/cmd/benchstat.
func BenchmarkFit(b *testing.B) {
	node := machine([]int{32, 32}, 0, 0, 0, 0, 1, 1, 1, 1)
	node.Links = switches(len(node.GPUs))
	for _, tc := range []struct {
		name string
		pod  *sched.Pod
	}{
		{"plain", &sched.Pod{}},
		{"gpus=1", joint(podspec.Random, "app 0 1")},
		{"gpus=1/single", joint(podspec.Single, "app 8 1")},
		{"gpus=2", joint(podspec.Random, "app 0 2")},
		{"gpus=2/single", joint(podspec.Single, "app 8 2")},
		{"gpus=4", joint(podspec.Random, "app 0 4")},
		{"gpus=8", joint(podspec.Random, "app 0 8")},
	} {
		b.Run("check/"+tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if why := Check(tc.pod, node); why.Refuses() {
					b.Fatal(why)
				}
			}
		})
		b.Run("place/"+tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, why := Place(tc.pod, node); why.Refuses() {
					b.Fatal(why)
				}
			}
		})
	}
}

// switches returns the links between GPUs of which two are on each PCIe switch and four
// on each socket.
func switches(gpus int) gpu.Links {
	links := make(gpu.Links, gpus)
	for a := range links {
		links[a] = make([]gpu.Link, gpus)
		for b := range links {
			links[a][b].Level = gpu.System
			if a/4 == b/4 {
				links[a][b].Level = gpu.HostBridge
			}
			if a/2 == b/2 {
				links[a][b].Level = gpu.Single
			}
		}
	}
	return links
}
