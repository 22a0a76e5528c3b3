package bucket

import "errors"

// Reserving is an index whose nodes may hold a reservation each: the task that it is for sees all that is free on the node, every other
// task what is left.
type Reserving struct{}

// NewReserving returns an empty index, or says what is wrong with the configuration.
func NewReserving(Config) (*Reserving, error) { return nil, errors.ErrUnsupported }

// Add takes a node into the index.
func (r *Reserving) Add(Node) error { return errors.ErrUnsupported }

// Update replaces the node of that name. Its reservation stays.
func (r *Reserving) Update(Node) error { return errors.ErrUnsupported }

// Remove takes the node of that name out, and its reservation.
func (r *Reserving) Remove(name string) error { return errors.ErrUnsupported }

// Reserve sets amounts of a node aside for a task, in place of what it held for that task; it is an error if it holds some for another.
func (r *Reserving) Reserve(node, task string, amounts Vector) error { return errors.ErrUnsupported }

// Release gives up what the node holds for a task, if it does.
func (r *Reserving) Release(node, task string) {}

// View returns the index as it is now, in O(1).
func (r *Reserving) View() ReservingView { return ReservingView{} }

// ReservingView is to View what Reserving is to Index.
type ReservingView struct{}

// Len returns the number of nodes.
func (v ReservingView) Len() int { return 0 }

// Node returns the node of that name, reservations not deducted, or nil.
func (v ReservingView) Node(name string) *Node { return nil }

// Pick returns up to n nodes that really fit Query.Task, the best by policy first. Their Free is what that task sees.
func (v ReservingView) Pick(q Query, n int) []*Node { return v.AppendPick(nil, q, n) }

// AppendPick is Pick into a slice that the caller owns.
func (v ReservingView) AppendPick(dst []*Node, q Query, n int) []*Node { return dst }
