// Package groups implements the custom resource GPUGroup, which gives GPUs to certain tenants. The
// groups that it has accepted are in force. It stores them as one immutable group.Grouping, and
// writes the statuses of all groups. It also compares what tenants hold with the quotas of tenants
// and of groups (Quotas).
//
// The package knows how groups and GPUs are read from custom resources, when a group is accepted,
// and how the API server is asked for permissions. It does not decide which pod gets which GPU.
//
//	r := groups.NewRegistry(groups.Dependencies{Allowed: permissions.Allowed, …})
//	go r.Run(ctx, synced)
//	match, err := r.Match(request)
//
// The code in registry.go accepts or refuses groups. verdict.go has the results of these checks and
// their reasons. author.go and permissions.go ask the API server for permissions. statuswriter.go
// writes statuses. matcher.go and quotas.go are for the scheduler, and client.go is for
// command-line tools. read.go converts custom resources to Go types and back.
package groups
