// Package tenants keeps the scores of tenants, by which the queue orders their pods. It also has
// the reconciler of the custom resource Tenant. The reconciler reads the weights of tenants from
// the specs of Tenants. It writes the tenants' scores, their usage and the used part of their
// quotas to the statuses.
//
// Package tenants stores usage and scores (the accounts) in the statuses of Tenants, and restores
// them exactly after a change of the leader. It does not know how scores are computed (package
// fairshare does), or what is ordered by the scores.
//
//	ledger := tenants.NewLedger(decay, now)
//	ledger.OnRescore(queue.Rescore)
//	ledger.Start(task)
//	err := ledger.Open(stored)
//	err = tenants.Add(manager, tenants.Reconciler{Ledger: ledger, …})
package tenants
