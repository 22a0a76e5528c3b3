// Package nodeapi is the agent's connection to the API server. It caches the pods of one node,
// writes events, labels the node, sets a condition of the node, removes its startup taint, and
// renews the agent's Lease. It sets the phase of a pod to Failed if the node rejects the pod. It
// also publishes the NodeTopology, the custom resource that describes the node to
// numalet-controller.
//
// No hook of the container runtime sends a request to the API server. The methods Pod and Wait read
// the local cache, and requests to the API server are sent in the background.
//
//	pods, err := nodeapi.NewPods(client, "node-1", nodeapi.Handlers{Ended: release})
//	go pods.Run(ctx)
//	pod, ok := pods.Wait(ctx, known) // at most until ctx is done
//
// client.go creates clients. pods.go and groups.go read from the API server, and events.go,
// reject.go, node.go, condition.go, taint.go and heartbeat.go write to it. topology.go decides when
// the NodeTopology is published, and publish.go decides which of its fields are sent.
package nodeapi
