package v1alpha1

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/testutil/fuzztest"
)

// pods returns the pods in the files of testdata/cpurequest as JSON.
func pods(f *testing.F) (all [][]byte) {
	f.Helper()
	files, err := filepath.Glob("testdata/cpurequest/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no pods: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		pod, err := yaml.YAMLToJSON(archive.Files[0].Data)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, pod)
	}
	return all
}

// FuzzReadCPURequest calls ReadCPURequest with random pods. ReadCPURequest must return either a
// Refusal with a reason and a message, or a request whose amounts are at most MaxAmount.
// ReadPlacement must return an error if the pod has no placement.
func FuzzReadCPURequest(f *testing.F) {
	for _, pod := range pods(f) {
		f.Add(pod)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var pod corev1.Pod
		if !fuzztest.Decode(data, &pod) {
			return
		}
		request, err := ReadCPURequest(&pod)
		if refusal := (*Refusal)(nil); err != nil && (!errors.As(err, &refusal) || refusal.Reason == "" || refusal.Message == "") {
			t.Errorf("no refusal: %v", err)
		}
		if err != nil && len(request.Containers) > 0 || len(request.Containers) > len(InRunOrder(&pod)) {
			t.Errorf("%d containers beside %v", len(request.Containers), err)
		}
		for _, container := range request.Containers {
			if container.CPUs <= 0 || container.CPUs > MaxAmount || container.MemoryBytes > MaxAmount {
				t.Errorf("container %s requests %d CPUs and %d bytes", container.Name, container.CPUs, container.MemoryBytes)
			}
		}
		if _, err := ReadPlacement(&pod, request); err == nil && pod.Annotations[AnnotationPlacement] == "" {
			t.Error("a placement was read that the pod does not have")
		}
	})
}

// FuzzPodSpec calls PodTemplate.PodSpec with random bytes as the pod template's spec. PodSpec
// must return either an error, or a spec that has a container and can be encoded as JSON
// again.
func FuzzPodSpec(f *testing.F) {
	for _, pod := range pods(f) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(pod, &fields); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(fields["spec"]))
	}
	f.Add([]byte(`{"containers":[{}],"unknown":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		template := PodTemplate{Spec: runtime.RawExtension{Raw: data}}
		spec, err := template.PodSpec()
		if err != nil {
			return
		}
		if len(spec.Containers) == 0 {
			t.Error("accepted without a container")
		}
		if _, err := json.Marshal(spec); err != nil {
			t.Errorf("cannot be written: %v", err)
		}
	})
}
