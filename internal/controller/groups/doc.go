// Package groups is between the custom resource GPUGroup and package group: it
// keeps the groups that are in force as one immutable grouping, and tells each
// group's author what became of it.
//
// It knows how a group and a node's GPUs read, when a group is accepted and when
// it no longer is; it refuses to know who has which right (Env.May answers that)
// and to decide who gets what.
//
//	k := gpugroup.New(gpugroup.Env{May: rights.May, …})
//	go k.Run(ctx)
//	match, err := k.Match(ask)
package groups
