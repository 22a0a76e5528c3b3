// Package podwriter writes the controller's decisions about pods to the API server. For each placed
// pod it writes one Binding with the placement, and an event. For pods that cannot be scheduled it
// writes events and the condition PodScheduled. Messages are worded like those of kube-scheduler.
//
// It knows what the API server's answers mean for a decision, how to send many objects at little
// cost, and how often to report. It makes no decisions. It does not bind while its fence, the check
// of the leader's lease, says that another replica may lead. Only Bind waits for the API server,
// and reports are written in the background.
//
//	w := podwriter.Writer{Reporter: reporter, Binder: binder, …}
//	go w.Run(ctx)
//	err := w.Bind(ctx, decision, detach) // an error: the pod is not bound there
//	w.Unschedulable(pod)
//
// writer.go binds a pod and reports the outcome. bind.go repeats a Binding until it is answered.
// reporter.go writes reports of failures, which failures.go queues. bound.go writes the events of
// bound pods. client.go sends Bindings and Events as protobuf over HTTP/1.1, and does not decode
// the API server's responses.
package podwriter
