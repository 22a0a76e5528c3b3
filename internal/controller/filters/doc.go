// Package filters hosts kube-scheduler's own filters, so that taints,
// affinity, spread, ports and volumes mean here what users know them to mean.
//
// It knows what those filters look at (Cluster) and how to run them on the few
// nodes that an index names (Proposer, Committer); it refuses to look for nodes
// and to score them.
//
//	cluster := filters.NewCluster(state)
//	state.Subscribe(cluster.Observe)
//	first, err := filters.NewProposer(ctx, cluster, api)   // one for each first-tier scheduler
//	second, err := filters.NewCommitter(ctx, cluster, api, quotas) // one
package filters
