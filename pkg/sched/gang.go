package sched

// Gang is a set of pods that start together or not at all.
type Gang struct {
	ID string // it differs from the UIDs of all pods, and is the key of the gang's reservations on nodes
	// Owner is the UID of the object, such as a Job, that recreates a pod of the gang when the pod
	// fails. It is "" if there is no such object. It is also "" if Members is not empty. In the
	// queue, one Pod stands for all pending pods of a gang. Only the Gang of this Pod has Members,
	// and they may have different owners. (Each of the pods has a Gang of its own, without
	// Members.)
	Owner string
	// Need is how many of Members must be placed at the same time. Pods of the gang that are
	// already bound or have succeeded are not among Members, and Need does not count them. If
	// Members is empty, Need is how many pods of the whole gang have to start together.
	Need    int
	Members []*Pod // pending pods only
}

// Claim returns the key under which nodes are reserved for the pod: its gang's ID, or its own UID.
func (p *Pod) Claim() string {
	if p.Gang != nil {
		return p.Gang.ID
	}
	return p.UID
}

// The method Together returns the pods that a queued pod represents: the members of its gang, or
// only the pod itself. It also returns how many of these pods must be placed at the same time.
func (p *Pod) Together() (pods []*Pod, need int) {
	if p.Gang == nil || len(p.Gang.Members) == 0 {
		return []*Pod{p}, 1
	}
	return p.Gang.Members, p.Gang.Need
}
