// Package bind binds pods as decided: one Binding for each pod, which carries the
// placement.
//
// It knows what the API server's answers mean for a decision. It refuses to decide, and
// to bind when its fence says that another replica may lead.
//
//	b := bind.New(bind.Options{CreateBinding: bindings.Create, Fence: lease.Check, …})
//	err := b.Bind(ctx, decision, detach) // an error: the pod is not bound there
package bind
