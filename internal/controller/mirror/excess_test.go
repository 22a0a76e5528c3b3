package mirror

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestTooManyGPUs checks nodes that report a negative or a far too large number of GPUs. The
// controller must not panic, must not allocate memory for so many GPUs, and must report such a
// node only once.
func TestTooManyGPUs(t *testing.T) {
	for n, want := range map[string]struct {
		records int
		odd     string
	}{
		"-1":                  {0, ""},
		"1024":                {1024, ""},
		"1025":                {0, "odd: node n1 reports 1025 of nvidia.com/gpu, and a node may have at most 1024: none of them is given to pods; repair its device plugin\n"},
		"10000000":            {0, "odd: node n1 reports 10000000 of nvidia.com/gpu, and a node may have at most 1024: none of them is given to pods; repair its device plugin\n"},
		"9223372036854775807": {0, "odd: node n1 reports 1125899906842624 of nvidia.com/gpu, and a node may have at most 1024: none of them is given to pods; repair its device plugin\n"},
	} {
		t.Run(n, func(t *testing.T) {
			s := newScene(t)
			s.mirror.SetNode(nodeOf("n1", scenario.Words{"cpu=8", "gpus=" + n}))
			s.mirror.SetNode(nodeOf("n1", scenario.Words{"cpu=9", "gpus=" + n}))
			if got := len(s.state.Record("n1").GPUs); got != want.records {
				t.Errorf("%d records of GPUs, want %d", got, want.records)
			}
			if got := strings.ReplaceAll(s.said.String(), "freed: n1\n", ""); got != want.odd {
				t.Errorf("reports %q, want %q", got, want.odd)
			}
		})
	}
}

// TestTooMuchCPU checks a pod that requests more CPUs than the controller can count. A pending pod
// must be refused. A pod that another scheduler has bound must count as holding at least all CPUs
// of its node.
func TestTooMuchCPU(t *testing.T) {
	for _, cpu := range []string{"9223372036854776", "9223372036854775807", "18446744073709552"} {
		t.Run(cpu, func(t *testing.T) {
			s := newScene(t)
			s.mirror.SetNode(nodeOf("n1", scenario.Words{"cpu=8"}))
			s.mirror.SetPod(podOf("a", scenario.Words{"cpu=" + cpu}))
			if got, want := s.said.String(), "refused: default/a: the pod requests "+cpu+" of cpu, which is more than any node can have"; !strings.Contains(got, want) {
				t.Errorf("%s\nwant %s", got, want)
			}
			for _, name := range []string{"b", "c"} {
				s.mirror.SetPod(podOf(name, scenario.Words{"cpu=" + cpu, "node=n1"}))
			}
			if free := s.state.Record("n1").Free.CPU; free >= 0 {
				t.Errorf("n1 has %dm CPU free beside pods that request %s CPUs", free, cpu)
			}
			for _, name := range []string{"b", "c"} {
				s.mirror.RemovePod(podOf(name, scenario.Words{"node=n1"}))
			}
			if free := s.state.Record("n1").Free.CPU; free != 8000 {
				t.Errorf("n1 has %dm CPU free once these pods are gone, want 8000m", free)
			}
		})
	}
}

// TestTooManyGPUsRequested checks a pod that requests more GPUs than any node may have. It must be
// refused before memory for so many GPUs is allocated.
func TestTooManyGPUsRequested(t *testing.T) {
	s := newScene(t)
	s.mirror.SetPod(podOf("a", scenario.Words{"cpu=1", "gpus=1000000000"}))
	if got, want := s.said.String(), "refused: default/a: the pod requests 1000000000 of nvidia.com/gpu, and a node may have at most 1024; request less\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTooManyNames checks that a pod is refused if the list of nodes or of GPU models in one of
// its annotations is longer than the limit.
func TestTooManyNames(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation, list string
		want             string
	}{
		"candidates":          {v1alpha1.AnnotationCandidateNodes, strings.Repeat("n1,", MaxCandidates-1) + "n2", "pending"},
		"too many candidates": {v1alpha1.AnnotationCandidateNodes, strings.Repeat("n,", MaxCandidates), "refused: default/a: the annotation numalet.dev/candidate-nodes lists 4097 nodes, and at most 4096 are read"},
		"models":              {v1alpha1.AnnotationGPUType, strings.Repeat("T4|", maxModels-1) + "T4", "pending"},
		"too many models":     {v1alpha1.AnnotationGPUType, strings.Repeat("T4|", maxModels) + "T4", "refused: default/a: the annotation numalet.dev/gpu-type lists 65 models of GPUs, and at most 64 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			pod := podOf("a", scenario.Words{"cpu=1", "gpus=1"})
			pod.Annotations[tc.annotation] = tc.list
			s.mirror.SetPod(pod)
			if got := s.said.String(); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%.200s, want %s", got, tc.want)
			}
		})
	}
}

// TestInventedGPUs checks pods that name GPUs or parts of GPUs that no node has. The queue must not
// have a type of resource for each such name, because the time that the queue takes grows with the
// square of the number of types.
func TestInventedGPUs(t *testing.T) {
	s := newScene(t)
	s.mirror.SetNode(nodeOf("n1", scenario.Words{"cpu=8", "gpus=1", "model=T4", "parts=gpu.shared:4"}))
	for i := range 20 {
		s.mirror.SetPod(podOf(fmt.Sprint("whole", i), scenario.Words{"cpu=1", "gpus=1", fmt.Sprintf("gpu-type=all|x%d", i)}))
		s.mirror.SetPod(podOf(fmt.Sprint("part", i), scenario.Words{"cpu=1", "parts=gpu.shared:1", fmt.Sprintf("gpu-type=all|x%d", i)}))
		s.mirror.SetPod(podOf(fmt.Sprint("slice", i), scenario.Words{"cpu=1", fmt.Sprintf("parts=mig-%dg:1", i)}))
		s.mirror.SetPod(podOf(fmt.Sprint("real", i), scenario.Words{"cpu=1", "parts=gpu.shared:1", fmt.Sprintf("gpu-type=T4|x%d", i)}))
	}
	types := map[string]int{}
	for line := range strings.SplitSeq(s.said.String(), "\n") {
		if _, rest, pending := strings.Cut(line, " of default for "); pending {
			name, _, _ := strings.Cut(rest, ",")
			types[name]++
		}
	}
	if diff := cmp.Diff(map[string]int{"unknown-gpu": 60, "T4-SHARED": 20}, types); diff != "" {
		t.Errorf("pods by their types in the queue (-want +got):\n%s", diff)
	}
}
