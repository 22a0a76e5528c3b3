package group

import "fmt"

// Reason is the kind of a Refusal.
type Reason uint8

// Why a group is not accepted, and why a container gets no GPUs.
const (
	Incomplete   Reason = iota // the group lacks something
	UnknownNode                // a node that is not there
	UnknownGPU                 // a GPU that is not there
	GPUElsewhere               // a GPU of another node
	Duplicate                  // a node or GPU named twice
	NoRight                    // a GPU that the tenant may not use
	WrongForm                  // not of the form asked for
	WrongType                  // not of a type asked for
	UnknownGroup               // a group that is not there
	NotServed                  // the group is for other tenants or containers
	TooFewGPUs                 // not so many are free on one node
	NeverEnough                // no node has so many
	OverQuota                  // the tenant would hold more than it may
)

// String returns the reason in CamelCase, as Kubernetes events spell theirs.
func (r Reason) String() string {
	names := [...]string{
		"Incomplete", "UnknownNode", "UnknownGPU", "GPUElsewhere", "Duplicate", "NoRight", "WrongGPUForm", "WrongGPUType",
		"UnknownGroup", "NotServed", "TooFewGPUs", "NeverEnoughGPUs", "OverQuota",
	}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Reason(%d)", r)
}

// Refusal is a group that is not accepted, or a container that gets no GPUs now.
type Refusal struct {
	Reason Reason
	Text   string // what, where, and what to do, in one sentence
}

func refuse(r Reason, format string, args ...any) *Refusal {
	return &Refusal{r, fmt.Sprintf(format, args...)}
}

// Error returns the sentence.
func (r *Refusal) Error() string { return r.Text }
