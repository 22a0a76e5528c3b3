// Package fairshare computes a score for what each tenant uses. Recent use counts more than old use,
// and each type of resource has a score of its own. The queue of pending pods (package queue) is
// ordered by these scores. The score S of a tenant follows its usage, the amount that the tenant
// holds. T is a time constant and Δt the time since the score was last computed:
//
//	S(t) = e^(−Δt/T) · S(t−Δt) + (1 − e^(−Δt/T)) · usage
//
// The package computes scores and what a pod is charged for, and it can continue with stored scores
// after a restart. It reads no clock (the caller passes times), and has no queue and no storage.
//
//	decay, err := fairshare.NewDecay(fairshare.DefaultTimeConstant)
//	book := fairshare.New(decay)
//	book.Start(fairshare.Task{UID: uid, Tenant: "ann", Since: started, Holds: held}, now)
//	first := book.Rank("ann", "T4", now) < book.Rank("bob", "T4", now)
//
// Read the files in this order: decay.go (the formula), account.go (what one tenant uses of one
// type), charge.go (what a pod is charged for), book.go (the accounts of all tenants) and store.go
// (how accounts are stored and restored).
package fairshare
