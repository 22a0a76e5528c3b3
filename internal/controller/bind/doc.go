// Package bind writes decisions down: one Binding a pod, with the placement in
// the same write.
//
// It knows what the API server's answers mean for what was decided; it refuses
// to decide, and to bind when its fence says that another one may.
//
//	b := bind.New(bind.Options{Post: client.Bind, Fence: lease.Check, …})
//	err := b.Bind(ctx, decision) // an error: the pod is not bound there
package bind
