// Package tenants keeps the score of the cluster's tenants, and is the operator of
// custom resource Tenant, on controller-runtime: their weights go into the scores,
// and scores, use and how much of a quota is used into their status.
//
// It knows how a score is stored, so that it is the same afterwards, and when; it
// refuses to know how scores come about (package fairshare) and what they order.
//
//	ledger := tenant.NewLedger(decay, tenant.Env{Now: now, Rescore: queue.Rescore})
//	ledger.Start(task)
//	err := ledger.Open(stored)
//	err = tenant.Add(manager, tenant.Reconciler{Ledger: ledger, …})
package tenants
