package group

import "fmt"

// GPURefusalReason is the machine-readable reason of a GPURefusal.
type GPURefusalReason uint8

// Reasons for which a group is not accepted, or a container gets no GPUs.
const (
	Incomplete   GPURefusalReason = iota // a field is missing
	UnknownNode                          // the node does not exist, or reports no GPUs
	UnknownGPU                           // the GPU does not exist
	GPUElsewhere                         // the GPU is listed for a node that does not have it
	Duplicate                            // a node or GPU is listed twice
	NoPermission                         // the tenant has no permission to use the GPU
	WrongForm                            // the form of a GPU or of a group is not the required one
	WrongType                            // the type of a GPU or of a group is not the required one
	UnknownGroup                         // the group does not exist
	NotServed                            // the group that the pod names is for other tenants or containers
	TooFewGPUs                           // no node has enough free GPUs now
	NeverEnough                          // no node has enough GPUs, even if all are free
	OverQuota                            // the tenant would exceed its quota
)

// String returns the reason in CamelCase, as in events of Kubernetes.
func (r GPURefusalReason) String() string {
	names := [...]string{
		"Incomplete", "UnknownNode", "UnknownGPU", "GPUElsewhere", "Duplicate", "NoPermission", "WrongGPUForm", "WrongGPUType",
		"UnknownGroup", "NotServed", "TooFewGPUs", "NeverEnoughGPUs", "OverQuota",
	}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("GPURefusalReason(%d)", r)
}

// GPURefusal says why a group is not accepted, or why a container gets no GPUs now.
type GPURefusal struct {
	Reason GPURefusalReason
	Text   string // one sentence: what is wrong, where, and what to do
}

func refuse(r GPURefusalReason, format string, args ...any) *GPURefusal {
	return &GPURefusal{r, fmt.Sprintf(format, args...)}
}

// Error returns Text.
func (r *GPURefusal) Error() string { return r.Text }
