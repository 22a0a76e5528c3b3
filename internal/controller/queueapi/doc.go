// Package queueapi serves the scheduling queue over HTTP: a handler for the controller,
// and a client for command-line tools.
//
// It has no access control: the controller serves it on its loopback address, which
// kubectl port-forward reaches.
//
//	server, err := telemetry.Listen(addr, queueapi.New(queueapi.Source{List: queue.List, …}))
//	pods, err := queueapi.Client{Server: "http://127.0.0.1:8127"}.Queue(ctx)
package queueapi
