package sched

// Gang is a set of pods that start together or not at all.
type Gang struct {
	ID string // differs from every pod's UID; the gang's reservations use it as their key
	// Owner is the UID of the object that recreates the pod when it fails, or "". A
	// gang with Members has no owner.
	Owner string
	// Need is how many of Members must be placed at the same time. Members that are
	// already bound or have succeeded do not count.
	Need    int
	Members []*Pod // pending pods only
}

// Claim returns the key of a pod's reservations: its gang's ID, or its own UID.
func (p *Pod) Claim() string {
	if p.Gang != nil {
		return p.Gang.ID
	}
	return p.UID
}

// Together returns the pods that a queued pod represents, and how many of them must
// be placed at the same time. These are the members of its gang, or the pod itself.
func (p *Pod) Together() (pods []*Pod, need int) {
	if p.Gang == nil || len(p.Gang.Members) == 0 {
		return []*Pod{p}, 1
	}
	return p.Gang.Members, p.Gang.Need
}
