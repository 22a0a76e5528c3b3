// Package fairshare keeps score of what tenants use: recently more than long ago, each
// type of resource by itself.
//
// It knows the score, what counts as used, and how to go on after a restart; it
// refuses to know clocks (times are given), queues, and where scores are stored.
//
//	decay, err := usage.Settle(usage.DefaultSettle)
//	book := usage.New(decay)
//	book.Start(usage.Task{UID: uid, Tenant: "ann", Since: started, Holds: held}, now)
//	first := book.Rank("ann", "T4", now) < book.Rank("bob", "T4", now)
package fairshare
