// Package filters runs kube-scheduler's own filter plugins. So taints, affinity, topology spread,
// ports and volumes have the same meaning as with kube-scheduler.
//
// Cluster has the data that the plugins read. Numalet's scheduler (package pipeline) has several
// proposers, which list nodes for pods, and one committer, which assigns the pods to nodes. A
// proposer runs the plugins through a Proposer, and the committer runs them through a Committer.
// They run the plugins only on the few nodes that an index of free resources selects. The package
// does not search for nodes. It checks whether a node has room for a pod, but does not rate nodes
// by their free resources.
//
//	cluster := filters.NewCluster(state)
//	state.Subscribe(cluster.Observe)
//	first, err := filters.NewProposer(ctx, cluster, api)   // one for each goroutine
//	second, err := filters.NewCommitter(ctx, cluster, api, quotas) // one
package filters
