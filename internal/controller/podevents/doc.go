// Package podevents reports to a pod's author what the scheduler did with the pod: as
// events and as the condition PodScheduled, in the words of kube-scheduler.
//
// It knows how to report and how often. It never makes the scheduler wait: callers
// hand over a report and go on.
//
//	r, err := podevents.New(ctx, podevents.Dependencies{Client: client, CreateEvent: events.Create, Explain: explain})
//	go r.Run(ctx)
//	r.Scheduled(decision)
//	r.Unschedulable(pod)
//
// reporter.go is the interface and writes reports of failures, failures.go queues
// these, bound.go writes the events of pods that are bound.
package podevents
