// Package lease elects the replica that may bind pods (the leader). At any time, it tells whether
// this replica may still bind pods.
//
// Package lease uses a Lease object in the API server. It does not stop a leader that is in the
// middle of a step. So the leader must call Check before every step that only a leader may take.
//
//	l, err := lease.New(client, lease.Options{Namespace: "numalet-system", Name: "numalet-controller", …})
//	err = l.Run(ctx, lead) // calls the function `lead` as soon as no other replica can act any more
package lease
