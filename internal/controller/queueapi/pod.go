package queueapi

import (
	"fmt"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// Pod is a pending pod and why it is where it is.
type Pod struct {
	Name     string  `json:"name"` // "namespace/name"
	Type     string  `json:"type"` // of resource; types never wait for each other
	Tenant   string  `json:"tenant"`
	Score    float64 `json:"score"` // its tenant's, per weight: the smaller, the earlier
	Priority int32   `json:"priority"`
	Position int     `json:"position"` // among the pending pods of its type, from 1; 0 if its gang is incomplete
	Of       int     `json:"of"`
	State    string  `json:"state"` // queue.State
	Waited   string  `json:"waited"`
	WaitsFor string  `json:"waitsFor"`
	// The fields below are set only if one pod was requested.
	Ahead   []Ahead `json:"ahead,omitempty"`
	Needs   string  `json:"needs,omitempty"`   // what would let it run
	Message string  `json:"message,omitempty"` // its last event: why no node fits it
}

// Ahead is the pods of one tenant that are ahead of a pod.
type Ahead struct {
	Tenant string  `json:"tenant"`
	Score  float64 `json:"score"`
	Pods   int     `json:"pods"`
}

// podOf returns an explanation as the API has it.
func podOf(e queue.Explanation) Pod {
	p := Pod{
		Name: e.Name, Type: string(e.Type), Tenant: e.Tenant, Score: e.Score, Priority: e.Priority, Position: e.Position, Of: e.Of,
		State: e.State.String(), Waited: e.Waited.Round(time.Second).String(), WaitsFor: e.Reason(),
	}
	for _, a := range e.Ahead {
		p.Ahead = append(p.Ahead, Ahead(a))
	}
	return p
}

// needs says what would let a pod run, to be read after "needs:".
func needs(e queue.Explanation) string {
	switch e.WaitsFor {
	case queue.ForNothing:
		return "nothing"
	case queue.ForBinding:
		return e.Blocker + " is bound, which takes moments"
	case queue.ForBlocker:
		return e.Blocker + " is scheduled, gets a reservation, or is deleted"
	case queue.ForBackoff:
		return "its next attempt, at " + e.Until.UTC().Format(time.TimeOnly)
	case queue.ForGate:
		return "pods of its tenant end, or the quota is raised"
	case queue.ForNode:
		if e.GangSize > 1 {
			return fmt.Sprintf("room for %d pods of its gang at the same time: other pods end, nodes are added, or the pods request less", e.GangSize)
		}
		return "a pod ends, a node is added, or it requests less"
	case queue.ForGangPods:
		return fmt.Sprintf("at least %d more pod(s) of its gang are created, or the gang's minimum is lowered", e.GangMissing)
	}
	return "the pods ahead of it are scheduled: their tenants used less, or they have a higher priority, or are older"
}
