// Package lease elects the one replica that may bind pods, and says at every
// moment whether this one still may.
//
// It knows the API server's Lease; it refuses to interrupt: who leads asks
// (Check) before every step that only a leader may take.
//
//	l := lease.New(client, lease.Options{Namespace: "numalet-system", Name: "numalet-controller", …})
//	err := l.Run(ctx, lead) // lead is called when nobody else can act any more
package lease
