package queueapi

import (
	"fmt"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// Pod is a pending pod, and why it is where it is.
type Pod struct {
	Name     string  `json:"name"` // "namespace/name"
	Type     string  `json:"type"` // of resource; types never wait for each other
	Tenant   string  `json:"tenant"`
	Score    float64 `json:"score"` // its tenant's, per weight: the smaller, the sooner its turn
	Priority int32   `json:"priority"`
	Place    int     `json:"place"` // among the pending pods of its type, from 1
	Of       int     `json:"of"`
	State    string  `json:"state"`
	Waited   string  `json:"waited"`
	WaitsFor string  `json:"waitsFor"`
	// Only where one pod is asked for.
	Ahead []Ahead `json:"ahead,omitempty"`
	Needs string  `json:"needs,omitempty"` // what would let it run
	Said  string  `json:"said,omitempty"`  // what its author was told last: why no node suits it
}

// Ahead is pods of a tenant whose turn is before.
type Ahead struct {
	Tenant string  `json:"tenant"`
	Score  float64 `json:"score"`
	Pods   int     `json:"pods"`
}

// read returns what the queue says, in words.
func read(e queue.Explanation) Pod {
	p := Pod{
		Name: e.Name, Type: string(e.Type), Tenant: e.Tenant, Score: e.Score, Priority: e.Priority, Place: e.Place, Of: e.Of,
		State: e.State.String(), Waited: e.Waited.Round(time.Second).String(), WaitsFor: e.Reason(),
	}
	for _, a := range e.Ahead {
		p.Ahead = append(p.Ahead, Ahead(a))
	}
	return p
}

// needs says what would let a pod run.
func needs(e queue.Explanation) string {
	switch e.For {
	case queue.Placing:
		return "nothing: it is on its way"
	case queue.AnotherBound:
		return "that " + e.After + " is bound, which takes moments"
	case queue.AnotherBlocked:
		return "that a node has room for " + e.After + " or holds back for it what it needs, or that it is deleted"
	case queue.ItsBackoff:
		return "another try, at " + e.Until.UTC().Format(time.TimeOnly)
	case queue.APermission:
		return "that pods of its tenant end, or a higher quota"
	case queue.ANode:
		if e.Together > 1 {
			return fmt.Sprintf("that pods end or nodes come, so that %d pods of its gang have at one time all that they ask for; or that they ask for less", e.Together)
		}
		return "that a pod ends or a node comes, so that a node has all that it asks for; or that it asks for less"
	case queue.ItsGang:
		return fmt.Sprintf("that more pods of its gang are made, %d at least, or that its minimum is less", e.Lacks)
	}
	return "that the pods before it have their turn; they are those of tenants that used less, or of a higher priority, or older"
}
