package jobs

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/fuzztest"
	"github.com/numalet/numalet/pkg/jobplan"
)

// FuzzNewPod checks that newPod makes a pod for each job whose pod template can be parsed, and
// that newPod does not change the template.
func FuzzNewPod(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no jobs: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		job, err := yaml.YAMLToJSON(archive.Files[0].Data)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(job)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		job := &v1alpha1.Job{}
		if !fuzztest.Decode(data, job) {
			return
		}
		spec, err := job.Spec.Template.PodSpec()
		if err != nil {
			return
		}
		before := spec.DeepCopy()
		at := &task{reconciler: &reconciler{schedulerName: "numalet-scheduler"}, job: job, spec: spec}
		pod := at.newPod(jobplan.Creation{})
		if len(pod.Spec.Containers) != len(before.Containers) || pod.Name != podName(job, 0) {
			t.Errorf("pod %s has %d containers, want %s with %d", pod.Name, len(pod.Spec.Containers), podName(job, 0), len(before.Containers))
		}
		if before.String() != spec.String() {
			t.Error("the template was changed")
		}
	})
}
