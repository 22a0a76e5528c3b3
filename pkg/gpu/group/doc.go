// Package group has the rules of GPU groups: which GPUs are reserved for which tenants, which of
// them a container may have, how much a tenant may hold, and which groups fit expected demand.
//
// It knows groups, GPU inventories and node records. It does not know which tenant has which
// permission (a Permission answers that), nor which GPUs are free (node records say so). A GPU in a
// group serves only containers that match such a group; other GPUs serve only containers that match
// no group.
//
//	grouping := group.New(groups, nodes)
//	match, err := grouping.Match(request) // which groups serve it
//	offer, err := match.Best(records)     // which node, which group, which GPUs
//
// group.go and request.go are the nouns; check.go accepts groups; grouping.go and match.go
// find GPUs; quota.go counts them; propose.go makes groups; refusal.go says why not.
package group
