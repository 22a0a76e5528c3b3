package v1alpha1

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// PodTemplate is a core/v1 PodTemplateSpec with a spec that is kept as it was
// written. The schema does not repeat that of a pod: it would be 20 times as long,
// too long for kubectl apply, and the rule that a template stays as it is would cost
// more than the API server allows. PodSpec reads it, and one job that is written
// badly keeps nobody from reading the others.
type PodTemplate struct {
	// +optional
	Metadata PodTemplateMeta `json:"metadata,omitempty"`
	// Spec is a core/v1 PodSpec.
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec runtime.RawExtension `json:"spec"`
}

// PodTemplateMeta is what a pod carries besides its name. Labels and annotations
// under numalet.dev/ that the job's fields stand for come from there.
type PodTemplateMeta struct {
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodSpec parses the spec. An unknown field is an error, because it would be lost: it is
// misspelt, or newer than this program.
func (t *PodTemplate) PodSpec() (*corev1.PodSpec, error) {
	spec := &corev1.PodSpec{}
	unknown, err := kjson.UnmarshalStrict(t.Spec.Raw, spec)
	if err == nil && len(unknown) > 0 {
		err = unknown[0]
	}
	if err == nil && len(spec.Containers) == 0 {
		err = errors.New("it has no containers")
	}
	if err != nil {
		return nil, fmt.Errorf("read spec.template.spec: %w", err)
	}
	return spec, nil
}
