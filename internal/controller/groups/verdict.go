package groups

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// Verdict is what became of one version of a group.
type Verdict struct {
	Name       string
	UID        types.UID // of the object; another may have the name later
	Generation int64
	Accepted   bool
	Reason     string // one word, in CamelCase
	Message    string
	GPUs       int          // that it holds
	Shared     []group.Held // those that others hold, too
}

// of reports whether it is of that version of that object.
func (v Verdict) of(object *v1alpha1.GPUGroup) bool {
	return v.UID == object.UID && v.Generation == object.Generation
}

// words of a verdict that no group.Reason has.
const (
	inForce    = "InForce"
	notChecked = "NotChecked"
)

// most is how many sentences a message has at most.
const most = 8

// refused says why a group is not in force.
func (v Verdict) refused(why []*group.Refusal) Verdict {
	v.Accepted, v.Reason = false, why[0].Reason.String()
	var said []string
	for i, r := range why {
		if i == most {
			said = append(said, fmt.Sprintf("and %d more", len(why)-most))
			break
		}
		said = append(said, r.Text)
	}
	v.Message = strings.Join(said, "; ")
	return v
}

// accepted says what a group that is in force holds.
func (v Verdict) accepted(held []group.Held) Verdict {
	v.Accepted, v.Reason, v.GPUs = true, inForce, len(held)
	nodes := map[string]bool{}
	for _, h := range held {
		nodes[h.Node] = true
		if len(h.Others) > 0 {
			v.Shared = append(v.Shared, h)
		}
	}
	v.Message = fmt.Sprintf("%s of %s", count(len(held), "GPU"), count(len(nodes), "node"))
	return v
}

// sharing says with whom a group shares.
func (v Verdict) sharing() string {
	if len(v.Shared) == 0 {
		return "no other group holds any of its GPUs"
	}
	var said []string
	for i, h := range v.Shared {
		if i == most {
			said = append(said, fmt.Sprintf("and %d more", len(v.Shared)-most))
			break
		}
		said = append(said, fmt.Sprintf("GPU %s of node %s is in %s, too", h.ID, h.Node, strings.Join(h.Others, ", ")))
	}
	return strings.Join(said, "; ") + ": who comes first gets it"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
