// Package podwriter writes the controller's decisions about pods to the API server. For each placed
// pod it writes a Binding and then an event. The Binding has the placement of exclusive CPUs and
// GPUs. For pods that cannot be scheduled it writes events and the condition PodScheduled. Where
// kube-scheduler writes the same event, the wording is similar.
//
// Package podwriter finds out from the API server's answers whether a pod is bound, and knows how
// to send many objects at little cost, and how often to report. It makes no scheduling decisions.
// Only one replica of the controller, the leader, may bind pods. So the package binds no pods while
// another replica may be the leader. The function Fence, which checks the leader's lease, returns
// an error then. Bind waits for the API server's answer to a Binding. Reports are written in the
// background.
//
//	w := podwriter.Writer{Reporter: reporter, Binder: binder, …}
//	go w.Run(ctx)
//	err := w.Bind(ctx, decision, detach) // after an error, the pod is not bound to the node; if ctx is done, it may be bound
//	w.Unschedulable(pod)
//
// writer.go binds a pod and reports the outcome. bind.go repeats a Binding until the API server
// answers. reporter.go writes reports of failures to schedule pods, and failures.go has the queue
// of these failures. bound.go writes the events of bound pods. client.go sends Bindings and Events
// as protobuf over HTTP/1.1, and does not decode the API server's responses.
package podwriter
