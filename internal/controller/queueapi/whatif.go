package queueapi

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// whatIfResource is the subresource that says what would let a pod start now.
const whatIfResource = "whatif"

// WhatIf is a pending pod's answers to "what if", at this moment.
type WhatIf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Variants          []Variant `json:"variants"`
}

// Variant is a change of a pod, and whether a node would have room for the changed pod now. It does
// not consider whose turn it is.
type Variant struct {
	Change string `json:"change"`
	Fits   bool   `json:"fits"`
	Node   string `json:"node,omitempty"` // one with room
}

// whatIf answers for one pod. The rate of requests is limited for all callers together, so that
// they cannot slow down scheduling.
func (s Source) whatIf(r *http.Request) (any, error) {
	e, err := s.find(r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	if e.GangSize > 1 {
		return nil, apierrors.NewBadRequest("the pod starts together with others of its gang, for which no changes are tried")
	}
	variants, ok := s.Try(e.Pod)
	if !ok {
		return nil, apierrors.NewTooManyRequests("too many questions at a time: ask again in a second", 1)
	}
	pod := podOf(e)
	return WhatIf{TypeMeta: metav1.TypeMeta{APIVersion: pod.APIVersion, Kind: "WhatIf"}, ObjectMeta: pod.ObjectMeta, Variants: variants}, nil
}

// TryFunc tries changes of a pod on the nodes as they are now. It returns false if there were too
// many requests.
type TryFunc = func(*sched.Pod) ([]Variant, bool)
