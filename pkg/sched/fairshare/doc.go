// Package fairshare scores what tenants use: recent use counts more than old use, and each type of
// resource has a score of its own. Scores order the queue.
//
//	S(t) = e^(−Δt/T) · S(t−Δt) + (1 − e^(−Δt/T)) · usage
//
// It knows the score, what a pod is charged for, and how to continue after a restart. It has no clock
// (the caller passes times), no queue and no storage.
//
//	decay, err := fairshare.NewDecay(fairshare.DefaultTimeConstant)
//	book := fairshare.New(decay)
//	book.Start(fairshare.Task{UID: uid, Tenant: "ann", Since: started, Holds: held}, now)
//	first := book.Rank("ann", "T4", now) < book.Rank("bob", "T4", now)
//
// Read decay.go (the formula), account.go (one tenant's use of one type), charge.go (what a pod counts
// as), book.go (all accounts) and store.go (saving and restoring them), in this order.
package fairshare
