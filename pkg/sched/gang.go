package sched

// Gang is pods that start together or not at all.
type Gang struct {
	ID string // unlike any pod's UID; what is reserved for the gang is under it
	// Owner is the UID of what makes the pod anew when it fails, "" for nothing. A gang
	// with Members has none.
	Owner string
	// Need is how many of Members have to be placed at one time. Those that are
	// bound already, or have succeeded, are not among them.
	Need    int
	Members []*Pod // that are pending
}

// Claim returns under what a pod's reservations are: its gang's ID, or its UID.
func (p *Pod) Claim() string {
	if p.Gang != nil {
		return p.Gang.ID
	}
	return p.UID
}

// Together returns those that a pod in a queue stands for, its gang's members or itself,
// and how many of them have to be placed at one time.
func (p *Pod) Together() (pods []*Pod, need int) {
	if p.Gang == nil || len(p.Gang.Members) == 0 {
		return []*Pod{p}, 1
	}
	return p.Gang.Members, p.Gang.Need
}
