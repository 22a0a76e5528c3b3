package queueapi

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// These are the names of the queue API and its resource.
const (
	Group    = "queue.numalet.dev"
	Version  = "v1alpha1"
	Resource = "pendingpods"
	Kind     = "PendingPod"
)

const root = "/apis/" + Group + "/" + Version

func groupResource() schema.GroupResource {
	return schema.GroupResource{Group: Group, Resource: Resource}
}

// PendingPod tells the position of a pending pod in the queue, and why the pod waits. It has the
// namespace, the name and the UID of the pod.
type PendingPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            Status `json:"status"`
}

// PendingPodList is a list of PendingPods. The pods are sorted by the type of resource that they
// wait for, and then by their position in the queue.
type PendingPodList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []PendingPod `json:"items"`
}

// Status tells where a pod is in the queue, and why it waits.
type Status struct {
	Type     string  `json:"type"` // type of resource that the pod waits for; the pod competes only with pods of this type and of types that overlap it (fairshare.Type.Overlaps): the type "GPU of any model" overlaps the type of each model; the value is "unknown-gpu" if no node has any of the requested GPUs
	Tenant   string  `json:"tenant"`
	Score    float64 `json:"score"` // score of the pod's tenant divided by the tenant's weight; pods with smaller scores come first
	Priority int32   `json:"priority"`
	Position int     `json:"position"` // position among the pending pods of this pod's type and of overlapping types, from 1; 0 if the pod's gang is incomplete
	Of       int     `json:"of"`       // number of pending pods of this pod's type and of overlapping types
	State    string  `json:"state"`    // name of a queue.State
	Waited   string  `json:"waited"`
	WaitsFor string  `json:"waitsFor"`
	// The fields below are set only in the response to a request for a single pod.
	Ahead   []Ahead `json:"ahead,omitempty"`
	Needs   string  `json:"needs,omitempty"`   // what would let the pod run
	Message string  `json:"message,omitempty"` // message of the last report about the pod, such as why no node suits it
	// Each element of Advice is one cause why the pod waits, with its remedy.
	Advice   []Advice  `json:"advice,omitempty"`
	Forecast *Forecast `json:"forecast,omitempty"`
}

// Forecast is when a pod will probably start, as durations from now. It comes from simulations,
// which draw the run times of pods at random from those of pods that have ended. It assumes that no
// more pods are created.
type Forecast struct {
	P50     string `json:"p50,omitempty"`     // the pod starts within this time in half of the simulations
	P90     string `json:"p90,omitempty"`     // the pod starts within this time in nine tenths of the simulations; empty if the pod starts in fewer than nine tenths of the simulations
	Unknown string `json:"unknown,omitempty"` // why there is no forecast
}

// Ahead counts the pods of one tenant that come before a pending pod in the queue.
type Ahead struct {
	Tenant string  `json:"tenant"`
	Score  float64 `json:"score"`
	Pods   int     `json:"pods"`
}

// podOf converts the queue's explanation of why a pod waits to a PendingPod.
func podOf(explanation queue.Explanation) PendingPod {
	s := Status{
		Type: string(explanation.Type), Tenant: explanation.Tenant, Score: explanation.Score, Priority: explanation.Priority, Position: explanation.Position, Of: explanation.Of,
		State: explanation.State.String(), Waited: explanation.Waited.Round(time.Second).String(), WaitsFor: explanation.Reason(),
	}
	for _, a := range explanation.Ahead {
		s.Ahead = append(s.Ahead, Ahead(a))
	}
	return PendingPod{
		TypeMeta: metav1.TypeMeta{APIVersion: Group + "/" + Version, Kind: Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: explanation.Pod.Namespace, Name: explanation.Pod.Name, UID: types.UID(explanation.UID), CreationTimestamp: metav1.NewTime(explanation.Created),
		},
		Status: s,
	}
}

// needs returns a text that says what would let a pod run. Command-line tools print it after the
// word "needs:".
func needs(explanation queue.Explanation) string {
	switch explanation.WaitsFor {
	case queue.ForNothing:
		return "nothing"
	case queue.ForPlacement:
		return explanation.Blocker + " is placed, which takes moments"
	case queue.ForBlocker:
		return explanation.Blocker + " is scheduled, gets a reservation, or is deleted"
	case queue.ForBackoff:
		return "its next attempt, at " + explanation.Until.UTC().Format("15:04:05 UTC")
	case queue.ForRetry:
		return "what refuses it on these nodes changes, or no other pod takes them first; it is tried again about every 10 s"
	case queue.ForGate:
		return "pods of its tenant end, or the quota is raised"
	case queue.ForNode:
		if explanation.GangSize > 1 {
			return fmt.Sprintf("room for %d pods of its gang at the same time: other pods end, nodes are added, or the pods request less", explanation.GangSize)
		}
		return "a pod ends, a node is added, or it requests less"
	case queue.ForGangPods:
		return fmt.Sprintf("at least %d more pod(s) of its gang are created, or the gang's minimum is lowered", explanation.GangMissing)
	}
	return "the pods ahead of it are scheduled: their tenants used less, or they have a higher priority, or are older"
}
