package jobs

import (
	"strings"
	"testing"
)

// TestHostListsTooLong checks that the template of a job is refused if the host lists of its pods
// do not fit into a ConfigMap.
func TestHostListsTooLong(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas  int32
		job       string
		namespace string
		want      string
	}{
		"many pods":                   {4096, "train", "default", ""},
		"long names":                  {1024, strings.Repeat("j", 58), strings.Repeat("n", 63), ""},
		"many pods with long names":   {4096, strings.Repeat("j", 58), strings.Repeat("n", 63), "the host lists of 4096 pods have 2384638 bytes, and a ConfigMap holds at most 1048576: use fewer replicas, or shorter names for the job and its namespace"},
		"many pods, long name of job": {4096, strings.Repeat("j", 58), "default", "the host lists of 4096 pods have 1696510 bytes, and a ConfigMap holds at most 1048576: use fewer replicas, or shorter names for the job and its namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			job := train()
			job.Name, job.Namespace, job.Spec.Replicas = tc.job, tc.namespace, tc.replicas
			got := ""
			spec, err := template(job)
			if err != nil {
				got = err.Error()
			}
			if got != tc.want || (spec == nil) != (err != nil) {
				t.Errorf("template = %v, %q, want %q", spec, got, tc.want)
			}
		})
	}
}
