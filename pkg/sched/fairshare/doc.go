// Package fairshare computes a score of how much each tenant uses and has used. Recent use counts
// more than old use. A tenant has one score for each type of resource. The queue of pending pods
// (package queue) orders tenants by these scores. The score S of a tenant follows its usage, which
// is the amount that the tenant holds. T is a time constant, and Δt is the time since the score was
// last computed:
//
//	S(t) = e^(−Δt/T) · S(t−Δt) + (1 − e^(−Δt/T)) · usage
//
// The package also computes the amounts that a pod is charged for, and it can continue with stored
// scores after a restart. It reads no clock, because the caller passes all times. The caller also
// stores the scores.
//
//	decay, err := fairshare.NewDecay(fairshare.DefaultTimeConstant)
//	book := fairshare.New(decay)
//	book.Start(fairshare.Task{UID: uid, Tenant: "ann", Since: started, Holds: held}, now)
//	first := book.Rank("ann", "T4", now) < book.Rank("bob", "T4", now)
//
// The files are best read in this order: decay.go (the formula), account.go (what one tenant uses
// of one type), charge.go (what a pod is charged for), book.go (the accounts of all tenants) and
// store.go (how accounts are stored and restored).
package fairshare
