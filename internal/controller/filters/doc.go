// Package filters runs kube-scheduler's own filter plugins. So taints, affinity, topology spread,
// ports and volumes have the same meaning as with kube-scheduler.
//
// Cluster has the data that the plugins read. Proposer and Committer run the plugins on the few
// nodes that an index selects. The package does not search for nodes. It checks whether a node has
// room for a pod, but does not rate nodes by their free resources.
//
//	cluster := filters.NewCluster(state)
//	state.Subscribe(cluster.Observe)
//	first, err := filters.NewProposer(ctx, cluster, api)   // one for each first-tier scheduler
//	second, err := filters.NewCommitter(ctx, cluster, api, quotas) // one
package filters
