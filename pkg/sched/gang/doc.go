// Package gang gives the pods that start together one turn.
//
// It knows which pending pods are of one gang, which of its pods are bound or have
// succeeded, and how many still have to start at one time: as many as its minimum says,
// less those. It refuses to know where there is room: the committer places all of them or
// none (package commit).
//
//	q := gang.New(queue.New(env, options), time.Now)
//	q.Add(queue.Entry{Pod: pod})       // of a gang where pod.Gang says so
//	pod, err := q.Next(ctx)            // may stand for all of a gang: pod.Gang.Members
//	q.Bound(uid, pod.Gang.ID)          // one of them
package gang
