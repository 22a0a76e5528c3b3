package jobs

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestMade checks what the reconciler creates for the Job in each file testdata/*.txt. It checks
// that four things equal those in the file: the last pod, which has the largest index, the Service,
// the ConfigMap, and the status of the Job.
func TestMade(t *testing.T) {
	scenario.Cases(t, "testdata/*.txt", func(t *testing.T, given []txtar.File) []txtar.File {
		job := &v1alpha1.Job{}
		if err := yaml.UnmarshalStrict(given[0].Data, job); err != nil {
			t.Fatal(err)
		}
		return made(t, job)
	})
}

// made reconciles a job once, and returns the objects that exist afterwards.
func made(t *testing.T, job *v1alpha1.Job) []txtar.File {
	t.Helper()
	w := newWorld(t, job)
	w.reconcile()
	after := w.job()
	after.Status.Objects = nil // their UIDs are random
	files := []txtar.File{text(t, "status", after.Status)}
	for _, found := range []struct {
		name   string
		object client.Object
		key    string
	}{
		{"service", &corev1.Service{}, job.Name}, {"config map", &corev1.ConfigMap{}, job.Name},
		{"last pod", &corev1.Pod{}, podName(job, int(job.Spec.Replicas)-1)},
	} {
		if !w.find(found.key, found.object) {
			files = append(files, txtar.File{Name: found.name, Data: []byte("none\n")})
			continue
		}
		found.object.SetResourceVersion("")
		files = append(files, text(t, found.name, found.object))
	}
	return files
}

func text(t *testing.T, name string, value any) txtar.File {
	t.Helper()
	data, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return txtar.File{Name: name, Data: data}
}
