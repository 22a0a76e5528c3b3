// Package distbucket finds a node for a task without looking at every node: DistBuckets, a multi-dimensional index of what is free.
//
// It knows names and vectors of amounts and nothing of what they stand for. One writer adds, updates and removes nodes; any number of
// readers ask immutable views meanwhile, without locks.
//
//	x, err := bucket.New(bucket.Config{Theta: bucket.Vector{1, 1}})
//	err = x.Add(bucket.Node{Name: "a", Free: bucket.Vector{4, 4}})
//	nodes := x.View().Pick(bucket.Query{Request: bucket.Vector{1, 2}, Policy: bucket.LeastFit}, 3)
package distbucket
