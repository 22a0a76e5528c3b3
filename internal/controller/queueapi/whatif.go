package queueapi

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// whatIfResource is the name of the subresource of pendingpods that tells, for several changes of a
// pod, whether a node has room for the changed pod now.
const whatIfResource = "whatif"

// WhatIf tells, for several changes of a pending pod, whether the changed pod would fit on a node
// now.
type WhatIf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Variants          []Variant `json:"variants"`
}

// Variant is a change of a pod, and whether a node has room for the changed pod now. The first
// Variant is the unchanged pod. A pod that fits may still have to wait, because pods that come
// before it in the queue are not considered.
type Variant struct {
	Change string `json:"change"`
	Fits   bool   `json:"fits"`
	Node   string `json:"node,omitempty"` // a node with room
}

// whatIf serves the subresource whatif: it tries changes of one pending pod. All users share one
// rate limit, so that their requests cannot slow down scheduling.
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

// TryFunc tries several changes of a pod. For each change, it tells whether a node has room for the
// changed pod now. It returns false if there were too many requests.
type TryFunc = func(*sched.Pod) ([]Variant, bool)
