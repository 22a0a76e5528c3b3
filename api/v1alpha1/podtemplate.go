package v1alpha1

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// PodTemplate is a PodTemplateSpec of core/v1. The API server does not validate its spec, because
// the definition of Job does not contain the schema of pods. With that schema, the definition
// would be 20 times as long, which is too long for kubectl apply. Also, the validation rule that
// forbids changes of the template would then exceed the cost limit of the API server for such
// rules. The spec is kept as raw JSON, which the method PodSpec parses. So an invalid template
// makes its own Job fail, but a list of all Jobs can still be decoded.
type PodTemplate struct {
	// Metadata are the labels and annotations of the pods.
	// +optional
	Metadata PodTemplateMeta `json:"metadata,omitempty"`
	// Spec is a PodSpec of core/v1.
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec runtime.RawExtension `json:"spec"`
}

// PodTemplateMeta are the labels and annotations of a pod. The controller adds the annotations
// under numalet.dev/ that request resources. It takes their values from the fields of the Job.
type PodTemplateMeta struct {
	// Labels are the labels of each pod.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are the annotations of each pod.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodSpec parses the spec. An unknown field is an error, because it is misspelt or newer than
// this program, and would be lost. A quantity is an error if it is long or has an exponent of
// more than two digits, because it may take hours to parse.
func (t *PodTemplate) PodSpec() (*corev1.PodSpec, error) {
	spec := &corev1.PodSpec{}
	if err := checkQuantities(t.Spec.Raw); err != nil {
		return nil, fmt.Errorf("read spec.template.spec: %w", err)
	}
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
