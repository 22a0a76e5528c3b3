// Package podevents tells a pod's author what became of the pod: events and the
// condition PodScheduled, in the words of kube-scheduler.
//
// It knows how to say it, and how often; it refuses to be waited for: whoever
// decides hands over and goes on.
//
//	r := report.New(ctx, report.Env{Client: client, Post: post.Event, Explain: explain})
//	go r.Run(ctx)
//	r.Scheduled(decision)
//	r.Unschedulable(pod)
package podevents
