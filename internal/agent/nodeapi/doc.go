// Package nodeapi is the agent's view of the API server: the pods of its node, the
// events it writes on them and how it ends one, the node's label, and its
// NodeTopology.
//
// It knows how to ask and how to be told; it refuses to be asked inside a hook
// of the runtime: Pod and Wait read the local cache only.
//
//	pods := kube.NewPods(client, "node-1", kube.Handlers{Ended: release})
//	go pods.Run(ctx)
//	pod, ok := pods.Wait(ctx, uid) // at most until ctx is done
package nodeapi
