// Package podwriter writes to the API server what the controller has decided about pods: one
// Binding for each pod, which carries the placement, events, and the condition PodScheduled,
// in the words of kube-scheduler.
//
// It knows what the API server's answers mean for a decision, how to send the objects of
// every pod at little cost, and how often to report. It makes no decisions, and does not bind when
// its fence says that another replica may lead. Only Bind waits for the API server: reports are
// handed over.
//
//	w := podwriter.Writer{Reporter: reporter, Binder: binder, …}
//	go w.Run(ctx)
//	err := w.Bind(ctx, decision, detach) // an error: the pod is not bound there
//	w.Unschedulable(pod)
//
// writer.go binds a pod and reports it; bind.go repeats one Binding until it is answered.
// reporter.go writes reports of failures, failures.go queues these, bound.go writes the events of
// pods that are bound. client.go sends Bindings and Events in protobuf, over HTTP/1.1, without
// decoding what the API server sends back.
package podwriter
