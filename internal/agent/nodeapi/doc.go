// Package nodeapi is the agent's connection to the API server: it caches the pods
// of one node, writes events, fails pods that the node rejects, labels the node,
// and publishes its NodeTopology.
//
// It never sends a request inside a hook of the runtime: Pod and Wait read the
// local cache, the rest runs in the background.
//
//	pods, err := nodeapi.NewPods(client, "node-1", nodeapi.Handlers{Ended: release})
//	go pods.Run(ctx)
//	pod, ok := pods.Wait(ctx, known) // at most until ctx is done
//
// client.go, then pods.go and groups.go read; events.go, reject.go, node.go write; topology.go
// decides when a NodeTopology is published, publish.go what.
package nodeapi
