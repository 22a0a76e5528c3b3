// Package groups connects the custom resource GPUGroup to package group: it keeps the
// accepted groups as one immutable grouping, and writes the groups' statuses.
//
// It knows how groups and GPUs are read from custom resources, and when a group is
// accepted. It does not know which tenant has which permission (Dependencies.Allowed answers that),
// and does not decide which pod gets which GPU.
//
//	r := groups.NewRegistry(groups.Dependencies{Allowed: permissions.Allowed, …})
//	go r.Run(ctx, synced)
//	match, err := r.Match(request)
//
// registry.go accepts groups and verdict.go says why not; author.go and permissions.go ask the API
// server; statuswriter.go writes statuses; matcher.go and quotas.go serve the scheduler;
// client.go serves the command line; read.go converts objects.
package groups
