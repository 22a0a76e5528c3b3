// Package queue has the pending pods and says whose turn it is.
//
// It knows the order of pods of one type of resource (priority, then their tenant's
// score, then age, then UID), that types take turns, who waits for whom, back-off, and
// which pods wait for something to become free. It refuses to know clocks and scores
// (they are given) and why a node does not suit (the caller says whether a change
// helps).
//
//	q := queue.New(queue.Env{Now: time.Now, After: after, Gains: center.Gains, Rank: rank}, queue.Options{})
//	q.Add(queue.Entry{Pod: pod, Created: created, Type: usage.TypeOf(pod), Tenant: "ann"})
//	pod, err := q.Next(ctx)
package queue
