package groups

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// Verdict is the result of checking one version of a group.
type Verdict struct {
	Name       string
	UID        types.UID // of the object: a later object may have the same name
	Generation int64
	Accepted   bool
	Reason     string // in CamelCase, as conditions have it
	Message    string
	// InForce is the form that was accepted last; nil if none was.
	InForce *v1alpha1.GPUGroupForm
	// Serves is whether pods may use InForce. Otherwise its GPUs are closed to everybody.
	Serves bool
	GPUs   int             // how many it holds
	Shared []group.HeldGPU // GPUs that other groups hold, too
}

// of reports whether the verdict is about this version of this object.
func (v Verdict) of(object *v1alpha1.GPUGroup) bool {
	return v.UID == object.UID && v.Generation == object.Generation
}

// serves reports whether pods may use this form of this object.
func (v Verdict) serves(object *v1alpha1.GPUGroup) bool {
	return v.Serves && v.UID == object.UID && v.InForce.Generation == object.Generation
}

// Reasons of a verdict besides those of group.GPURefusalReason.
const (
	accepted       = "Accepted"
	notChecked     = "PermissionsUnknown"
	checkFailed    = "CheckFailed"
	partsNotServed = "PartsNotServed"
	// authorNotAllowed means that the author of a spec may not use a tenant or a GPU of this spec
	// or of the spec that it replaces.
	authorNotAllowed = "AuthorNotAllowed"
)

// maxSentences limits how many sentences a message has.
const maxSentences = 8

// refused returns the verdict that a group is not accepted.
func (v Verdict) refused(why []*group.GPURefusal) Verdict {
	v.Accepted, v.Reason = false, why[0].Reason.String()
	var sentences []string
	for i, r := range why {
		if i == maxSentences {
			sentences = append(sentences, fmt.Sprintf("and %d more", len(why)-maxSentences))
			break
		}
		sentences = append(sentences, r.Text)
	}
	v.Message = strings.Join(sentences, "; ")
	return v
}

// serving returns the verdict on a refused form while an older one is in force. older is
// the verdict on that one.
func (v Verdict) serving(older Verdict) Verdict {
	if v.Serves = older.Serves; v.Serves {
		v.Message += fmt.Sprintf("; generation %d stays in force", older.Generation)
		return v
	}
	return v.closed(fmt.Sprintf("generation %d, which was in force: %s", v.InForce.Generation, older.Message))
}

// closed returns the verdict on a group whose last accepted form may not be used now. why
// is added to the message, unless it is empty.
func (v Verdict) closed(why string) Verdict {
	if why != "" {
		v.Message += "; " + why
	}
	v.Message += "; nobody gets its GPUs until this is repaired or the group is deleted"
	return v
}

// withGPUs completes the verdict on a group that holds GPUs.
func (v Verdict) withGPUs(held []group.HeldGPU) Verdict {
	v.GPUs = len(held)
	nodes := map[string]bool{}
	for _, h := range held {
		nodes[h.Node] = true
		if len(h.Others) > 0 {
			v.Shared = append(v.Shared, h)
		}
	}
	if v.Accepted {
		v.Reason, v.Message = accepted, fmt.Sprintf("%s of %s", count(len(held), "GPU"), count(len(nodes), "node"))
		if v.InForce.Spec.Enforcement == v1alpha1.EnforcementAdvisory {
			v.Message += "; advisory: nodes do not keep pods of other schedulers out"
		}
	}
	return v
}

// sharing returns the message of the condition Shared.
func (v Verdict) sharing() string {
	if len(v.Shared) == 0 {
		return "no other group has any of its GPUs"
	}
	var sentences []string
	for i, h := range v.Shared {
		if i == maxSentences {
			sentences = append(sentences, fmt.Sprintf("and %d more", len(v.Shared)-maxSentences))
			break
		}
		sentences = append(sentences, fmt.Sprintf("GPU %s of node %s is also in %s", h.ID, h.Node, strings.Join(h.Others, ", ")))
	}
	return strings.Join(sentences, "; ") + ": the first pod that requests a shared GPU gets it"
}

// count returns "1 node" or "2 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
