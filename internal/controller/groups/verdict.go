package groups

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// Verdict is the result of a check of one version of a group's spec.
type Verdict struct {
	Name       string
	UID        types.UID // UID of the GPUGroup; needed because a later group may have the same name
	Generation int64
	Accepted   bool
	Reason     string // reason of the condition Accepted, in CamelCase
	Message    string
	// InForce is the version of the spec that was accepted last, or nil if there is none.
	InForce *v1alpha1.GPUGroupForm
	// Serves reports whether pods may use the GPUs of InForce. If it is false, nobody may use them.
	Serves bool
	GPUs   int             // number of GPUs that the group holds
	Shared []group.HeldGPU // the group's GPUs that other groups hold as well
}

// The method `of` reports whether the verdict is about the given object and about the object's
// generation.
func (v Verdict) of(object *v1alpha1.GPUGroup) bool {
	return v.UID == object.UID && v.Generation == object.Generation
}

// serves reports whether the verdict says two things: pods may use the GPUs of the group, and the
// version of the spec that is in force is the one in the given object.
func (v Verdict) serves(object *v1alpha1.GPUGroup) bool {
	return v.Serves && v.UID == object.UID && v.InForce.Generation == object.Generation
}

// These are reasons of a verdict (reasons of the condition Accepted), in addition to the constants
// of type group.GPURefusalReason.
const (
	accepted       = "Accepted"
	notChecked     = "PermissionsUnknown"
	checkFailed    = "CheckFailed"
	partsNotServed = "PartsNotServed"
	// authorNotAllowed means that the author of a spec may not use one of the tenants or GPUs in
	// this spec, or in the older spec that it replaces.
	authorNotAllowed = "AuthorNotAllowed"
)

// maxSentences is the largest number of reasons, or of shared GPUs, that the message of a condition
// lists.
const maxSentences = 8

// refused returns a copy of the verdict v which says that the group is not accepted, and why.
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

// serving is called if the verdict v refuses the newest spec of a group, and an older spec was
// accepted before. The parameter `older` is the verdict on this older spec. serving returns a copy
// of v that says what becomes of the group. If the older verdict says that pods may use the GPUs,
// the older spec stays in force. Otherwise nobody may use the GPUs (see the method `closed`).
func (v Verdict) serving(older Verdict) Verdict {
	if v.Serves = older.Serves; v.Serves {
		v.Message += fmt.Sprintf("; generation %d stays in force", older.Generation)
		return v
	}
	return v.closed(fmt.Sprintf("generation %d, which was in force: %s", v.InForce.Generation, older.Message))
}

// closed is for a verdict v on a group that was accepted before, but whose GPUs nobody may use now.
// It returns a copy of v. The message of the copy also has the text given as `why`, and says that
// nobody gets the GPUs.
func (v Verdict) closed(why string) Verdict {
	if why != "" {
		v.Message += "; " + why
	}
	v.Message += "; nobody gets its GPUs until this is repaired or the group is deleted"
	return v
}

// withGPUs adds to a group's verdict the number of GPUs that the group holds, and a list of those
// GPUs that other groups hold as well. If the group is accepted, it also sets the reason and the
// message.
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

// count returns, for example, "1 node" or "2 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
