// Package queue holds the pending pods, and decides which of them is scheduled next.
//
// Each pod waits for one type of resource, such as CPUs or GPUs of the model T4. The types take
// turns: the queue returns a pod of one type, then a pod of another type. Some types overlap, such
// as "T4" and "T4 or V100". Pods of one type or of overlapping types are ordered by priority, then
// by the fair-share score of their tenant (package fairshare), then by age, then by UID. A gang is
// a set of pods that start together. GangQueue returns the pods of a gang at the same time.
//
// The queue also decides which pod has to wait for which other pod, how long a pod backs off
// (waits before its retry) after it could not be placed, and which pods are retried after a change
// in the cluster. It reads no clock and computes no scores: the caller provides the time and the
// scores.
//
//	q := queue.New(queue.Env{Now: time.Now, After: after, FreedSeq: nodes.FreedSeq, Rank: rank}, queue.Options{})
//	gangs := queue.NewGangQueue(q)
//	gangs.Add(queue.Entry{Pod: pod, Created: created, Type: fairshare.Type(pod.ResourceType()), Tenant: "ann"})
//	pod, err := gangs.Next(ctx) // may represent all pods of a gang: pod.Gang.Members
package queue
