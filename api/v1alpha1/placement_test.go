package v1alpha1

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestReadPlacement reads the placements of each file testdata/placement/*.txt. A file has a
// pod, and a section of placements for it, one per line. The indented line after each
// placement is the expected result.
func TestReadPlacement(t *testing.T) {
	scenario.Cases(t, "testdata/placement/*.txt", func(t *testing.T, given []txtar.File) []txtar.File {
		var pod corev1.Pod
		if err := yaml.UnmarshalStrict(given[0].Data, &pod); err != nil {
			t.Fatal(err)
		}
		return []txtar.File{{Name: "placements", Data: []byte(readPlacements(t, &pod, string(given[1].Data)))}}
	})
}

func readPlacements(t *testing.T, pod *corev1.Pod, lines string) string {
	request, err := ReadCPURequest(pod)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		placed := pod.DeepCopy()
		placed.Annotations = map[string]string{AnnotationPlacement: strings.TrimSuffix(line, "\n")}
		b.WriteString(line + "  " + showPlacement(request, placed) + "\n")
	}
	return b.String()
}

func showPlacement(request CPURequest, pod *corev1.Pod) string {
	p, err := ReadPlacement(pod, request)
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return fmt.Sprintf("%s: %s", r.Reason, strings.TrimPrefix(r.Message, "the placement in the annotation "+AnnotationPlacement+" is not one of this pod: "))
	}
	var parts []string
	for _, container := range request.At(p).Containers {
		parts = append(parts, fmt.Sprintf("%s %v", container.Name, container.PerNode))
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if gpus := p.Containers[c.Name].GPUs; len(gpus) > 0 {
			parts = append(parts, fmt.Sprintf("%s %v", c.Name, gpus))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// FuzzParsePlacement checks that a placement that ParsePlacement accepts does not change
// if it is formatted and parsed again. It also checks that the placement gives at least 1
// CPU on each NUMA node that it lists.
func FuzzParsePlacement(f *testing.F) {
	f.Add(`{"version":1,"containers":{"main":{"cpus":{"0":2,"1":2},"gpus":["GPU-a"]}}}`)
	f.Add(`{"version":1,"containers":{"a":{"cpus":{"0":-2}}}}`)
	f.Add(`{"version":1e0}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlacement(text)
		if err != nil {
			return
		}
		for name, container := range p.Containers {
			for id, count := range container.CPUs {
				if id < 0 || count < 1 {
					t.Errorf("container %s has %d CPUs on NUMA node %d", name, count, id)
				}
			}
		}
		again, err := FormatPlacement(p.Containers)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParsePlacement(again)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", text, again, err)
		}
		if diff := cmp.Diff(p, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
}
