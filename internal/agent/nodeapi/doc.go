// Package nodeapi is the agent's connection to the API server. It caches the pods of one node,
// writes events, sets pods that the node rejects to Failed, labels the node, and publishes its
// NodeTopology.
//
// It never sends a request while a hook of the runtime waits. Pod and Wait read the local cache,
// and everything else runs in the background.
//
//	pods, err := nodeapi.NewPods(client, "node-1", nodeapi.Handlers{Ended: release})
//	go pods.Run(ctx)
//	pod, ok := pods.Wait(ctx, known) // at most until ctx is done
//
// client.go creates clients. pods.go and groups.go read from the API server, and events.go,
// reject.go and node.go write to it. topology.go decides when a NodeTopology is published, and
// publish.go what is sent.
package nodeapi
