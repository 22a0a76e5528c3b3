// Package lease elects the replica that may bind pods (the leader). At any time, it tells whether
// this replica may still bind pods.
//
// It uses a Lease object in the API server. It does not interrupt the leader. The leader must call
// Check before every step that only a leader may take.
//
//	l, err := lease.New(client, lease.Options{Namespace: "numalet-system", Name: "numalet-controller", …})
//	err = l.Run(ctx, lead) // calls lead once no other replica can act any more
package lease
