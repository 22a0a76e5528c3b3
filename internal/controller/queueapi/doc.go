// Package queueapi says over HTTP why pending pods are where they are in the queue:
// a handler for the controller, and a client for people's tools.
//
// It knows how an explanation is written; it refuses to know who may ask: the
// controller serves it on its loopback, which kubectl port-forward reaches.
//
//	server, err := telemetry.Listen(addr, explain.New(explain.Source{List: queue.List, …}))
//	pods, err := explain.Client{Server: "http://127.0.0.1:8127"}.Queue(ctx)
package queueapi
