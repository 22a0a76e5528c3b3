// Package queue orders the pending pods.
//
// Types of resource take turns, unless they overlap. Pods of one type, or of types that overlap,
// are ordered by priority, then by their tenant's score, then by age, then by UID. All pods of a
// gang have one turn (GangQueue). The package also knows which pod waits for which, how long a pod
// backs off, and which pods a change may help. It has no clock and computes no scores: the caller
// provides both.
//
//	q := queue.New(queue.Env{Now: time.Now, After: after, FreedSeq: nodes.FreedSeq, Rank: rank}, queue.Options{})
//	gangs := queue.NewGangQueue(q)
//	gangs.Add(queue.Entry{Pod: pod, Created: created, Type: fairshare.Type(pod.ResourceType()), Tenant: "ann"})
//	pod, err := gangs.Next(ctx) // may represent all pods of a gang: pod.Gang.Members
package queue
