package node

import (
	"errors"
	"testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestRequestsWithoutAnnotations checks pods that request exclusive CPUs although their annotations
// do not show this. Either another device plugin serves the extended resource for the CPUs of a
// NUMA node, and does not add the annotations that numalet-deviceplugin adds. Or the user set
// labels instead of annotations. The agent must refuse these pods, because otherwise they would run
// unpinned. If exclusive CPUs are disabled on the node, the agent must accept them.
func TestRequestsWithoutAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		pod   string
		label string
		agent string
		want  v1alpha1.Reason
	}{
		"explicit without tokens":       {pod: "pod a main:2@1=2", agent: "agent start form=explicit", want: NotAsked},
		"explicit on a policy node":     {pod: "pod a main:2@1=2", agent: "agent start", want: FormNotServed},
		"labels instead":                {pod: "pod a main:2", label: v1alpha1.AnnotationCPUPolicy, agent: "agent start", want: v1alpha1.UnknownAnnotation},
		"asks for nothing":              {pod: "pod a main:2", agent: "agent start"},
		"switched off, nothing is told": {pod: "pod a main:2", label: v1alpha1.AnnotationCPUPolicy, agent: "agent start off"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, &scenario.Answer{})
			s.play(tc.agent, tc.pod, "sandbox a")
			if tc.label != "" {
				s.pods["a"].Labels = map[string]string{tc.label: "single"}
			}
			c := containerOf(s.pods["a"], "main", s.current("a"))
			c.Annotations = nil
			_, err := s.node.Create(t.Context(), c)
			var got v1alpha1.Reason
			if r := (*v1alpha1.Refusal)(nil); errors.As(err, &r) {
				got = r.Reason
			}
			if got != tc.want {
				t.Errorf("Create = %v, want reason %q", err, tc.want)
			}
		})
	}
}
