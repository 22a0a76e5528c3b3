// Package tenants keeps the scores of tenants, by which the queue orders their pods. It is also the
// reconciler of the custom resource Tenant. The reconciler reads the weights of tenants. It writes
// their scores, their usage and the used part of their quotas to the status.
//
// It knows how and when accounts are stored, so that a restored score is exact. It does not know
// how scores are computed (package fairshare), or what is ordered by them.
//
//	ledger := tenants.NewLedger(decay, now)
//	ledger.OnRescore(queue.Rescore)
//	ledger.Start(task)
//	err := ledger.Open(stored)
//	err = tenants.Add(manager, tenants.Reconciler{Ledger: ledger, …})
package tenants
