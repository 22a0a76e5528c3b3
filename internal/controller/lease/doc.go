// Package lease elects the one replica that may bind pods, and reports at any time whether this
// replica may still bind pods.
//
// It knows the API server's Lease. It does not interrupt the leader: the leader calls
// Check before every step that only a leader may take.
//
//	l, err := lease.New(client, lease.Options{Namespace: "numalet-system", Name: "numalet-controller", …})
//	err = l.Run(ctx, lead) // calls lead once no other replica can act any more
package lease
