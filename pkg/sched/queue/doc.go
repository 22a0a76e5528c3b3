// Package queue has the pending pods and says whose turn it is.
//
// It knows the order (priority, then age, then UID), back-off, and which pods
// wait for something to become free; it refuses to know clocks (they are given)
// and why a node does not suit (the caller says whether a change helps).
//
//	q := queue.New(queue.Env{Now: time.Now, After: after, Gains: center.Gains}, sched.Backoff{})
//	q.Add(queue.Entry{Pod: pod, Created: created})
//	pod, err := q.Next(ctx)
package queue
