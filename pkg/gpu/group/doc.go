// Package group has the rules of GPU groups: which GPUs are dedicated to which tenants, which GPUs
// a container may get, and how many GPUs a tenant may hold. It can also propose groups for the
// containers that a tenant expects to run.
//
// A container matches a group if the group is for its tenant, its name, and the form and type of
// GPU that it requests. A GPU in one or more groups is allocated only to containers that match one
// of these groups. Other GPUs are allocated only to containers that match no group. The package
// does not decide which tenant may use which GPU: the caller passes a Permission for that. It does
// not record which GPUs are free, either: the caller passes a sched.Node for each node, which is
// the scheduler's record of what is free on the node.
//
//	grouping := group.New(groups, nodes)
//	match, err := grouping.Match(request) // which groups can serve the request
//	offer, err := match.Best(records)     // which node, group and GPUs serve it best
//
// group.go and request.go have the types. check.go checks whether groups can be accepted.
// grouping.go and match.go find GPUs for a container. quota.go counts what tenants hold. propose.go
// proposes groups. refusal.go has the errors.
package group
