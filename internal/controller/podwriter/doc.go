// Package podwriter writes the controller's decisions about pods to the API server. For each placed
// pod it writes a Binding, which has the placement of exclusive CPUs and GPUs, and an event. For
// pods that cannot be scheduled it writes events and the condition PodScheduled. Where
// kube-scheduler writes the same event, the wording is similar.
//
// Package podwriter knows what the API server's answers mean for a decision, how to send many
// objects at little cost, and how often to report. It makes no scheduling decisions. It binds no
// pods while another replica may lead. The function Fence, which checks the leader's lease, tells
// whether another replica may lead. Bind waits for the API server's answer to a Binding. Reports
// are written in the background.
//
//	w := podwriter.Writer{Reporter: reporter, Binder: binder, …}
//	go w.Run(ctx)
//	err := w.Bind(ctx, decision, detach) // after an error, the pod is not bound to the node, unless ctx is done
//	w.Unschedulable(pod)
//
// writer.go binds a pod and reports the outcome. bind.go repeats a Binding until the API server
// answers. reporter.go writes reports of failures to schedule pods, and failures.go has the queue
// of these failures. bound.go writes the events of bound pods. client.go sends Bindings and Events
// as protobuf over HTTP/1.1, and does not decode the API server's responses.
package podwriter
