// Package filters runs kube-scheduler's own filter plugins. So taints, affinity, topology spread,
// ports and volumes have the same meaning as with kube-scheduler.
//
// Cluster has the data that the plugins read. Numalet's scheduler (package pipeline) has several
// proposers, which list nodes for pods, and one committer, which assigns the pods to nodes. Both
// run the plugins on the few nodes that an index selects: a proposer with a Proposer, and the
// committer with a Committer. The package does not search for nodes. It checks whether a node has
// room for a pod, but does not rate nodes by their free resources.
//
//	cluster := filters.NewCluster(state)
//	state.Subscribe(cluster.Observe)
//	first, err := filters.NewProposer(ctx, cluster, api)   // one for each goroutine
//	second, err := filters.NewCommitter(ctx, cluster, api, quotas) // one
package filters
