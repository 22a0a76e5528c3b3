package v1alpha1

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// TestReadCPURequest calls ReadCPURequest for the pod in each testdata/cpurequest/*.txt.
// It compares the request, or the reason why it is refused, with the section "request" of
// the file.
func TestReadCPURequest(t *testing.T) {
	scenario.Cases(t, "testdata/cpurequest/*.txt", func(t *testing.T, given []txtar.File) []txtar.File {
		var pod corev1.Pod
		if err := yaml.UnmarshalStrict(given[0].Data, &pod); err != nil {
			t.Fatal(err)
		}
		return []txtar.File{{Name: "request", Data: []byte(show(ReadCPURequest(&pod)))}}
	})
}

// show returns a request as text, with one line for each container. If err is a Refusal, the text
// has the refusal's reason and message.
func show(request CPURequest, err error) string {
	var b strings.Builder
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		fmt.Fprintf(&b, "%s", refusal.Reason)
		if refusal.Container != "" {
			fmt.Fprintf(&b, " (container %s)", refusal.Container)
		}
		fmt.Fprintf(&b, ": %s\n", refusal.Message)
	}
	if err == nil {
		form := request.Form.String()
		if request.Form == PolicyForm {
			form += " " + request.Policy.String()
		}
		if request.Isolated {
			form += ", isolated"
		}
		fmt.Fprintln(&b, form)
	}
	if request.Placed {
		fmt.Fprintln(&b, RefusePlacement())
	}
	for _, container := range request.Containers {
		fmt.Fprintf(&b, "%s %s: %d CPUs", container.Kind, container.Name, container.CPUs)
		if container.PerNode != nil {
			fmt.Fprintf(&b, " as %v", container.PerNode)
		}
		if container.MemoryBytes > 0 {
			fmt.Fprintf(&b, ", %d bytes local", container.MemoryBytes)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// TestTooManyContainers checks that a pod with too many init containers with exclusive CPUs is
// refused. Kubernetes does not limit the number of init containers. Because they run one after
// another, they can all use the same CPUs.
func TestTooManyContainers(t *testing.T) {
	for n, want := range map[int]Reason{MaxExclusiveContainers: "", MaxExclusiveContainers + 1: TooManyContainers} {
		limits := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationCPUPolicy: PolicySingle}}}
		for i := range n {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: fmt.Sprint("c", i), Resources: corev1.ResourceRequirements{Limits: limits}})
		}
		_, err := ReadCPURequest(&pod)
		var got Reason
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
			got = refusal.Reason
		}
		if got != want {
			t.Errorf("%d containers are refused with the reason %q, want %q", n, got, want)
		}
	}
}

func TestExclusive(t *testing.T) {
	request := CPURequest{Containers: []podspec.Container{{Name: "a", CPUs: 1}, {Name: "b", CPUs: 2}}}
	if got, ok := request.Exclusive("b"); !ok || got.CPUs != 2 {
		t.Errorf("Exclusive(b) = %v, %v; want 2 CPUs", got, ok)
	}
	if _, ok := request.Exclusive("c"); ok {
		t.Error("Exclusive(c) found a container without exclusive CPUs")
	}
}

func TestMayRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"nothing":       {nil, false},
		"foreign":       {map[string]string{"example.com/cpu-policy": "single"}, false},
		"policy":        {map[string]string{AnnotationCPUPolicy: "single"}, true},
		"placement":     {map[string]string{AnnotationPlacement: "{}"}, true},
		"misspelt":      {map[string]string{"numalet.dev/cpupolicy": "single"}, true},
		"GPUs only":     {map[string]string{AnnotationGPUType: "H100", AnnotationGPUForm: "physical", AnnotationGPUGroup: "ann"}, false},
		"gang only":     {map[string]string{AnnotationGangMinAvailable: "2", AnnotationCandidateNodes: "n1"}, false},
		"longer domain": {map[string]string{AllocatedAnnotation(1): "numa1-cpu-4"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := MayRequest(tc.annotations); got != tc.want {
				t.Errorf("MayRequest = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAllocatedRoundTrip(t *testing.T) {
	got := ParseAllocated(map[string]string{
		AllocatedAnnotation(0):  "numa0-cpu-3",
		AllocatedAnnotation(72): "numa72-cpu-1,numa72-cpu-9",
		NUMAResource(1):         "2",
		AllocatedAnnotation(3):  "",
	})
	if diff := cmp.Diff(map[topology.NodeID]int{0: 1, 72: 2}, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}
