// Package filters runs kube-scheduler's own filter plugins, so that taints, affinity,
// spread, ports and volumes have their usual meaning.
//
// It knows what the plugins read (Cluster) and how to run them on the few nodes that an
// index selects (Proposer, Committer). It does not search for nodes or score them.
//
//	cluster := filters.NewCluster(state)
//	state.Subscribe(cluster.Observe)
//	first, err := filters.NewProposer(ctx, cluster, api)   // one for each first-tier scheduler
//	second, err := filters.NewCommitter(ctx, cluster, api, quotas) // one
package filters
