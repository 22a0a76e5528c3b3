// Package apisim is a fake API server in memory, which injects faults into the requests and watches
// of its clients. It is for tests in simulated time (testing/synctest).
//
// It behaves like a real API server where schedulers depend on it: resource versions,
// preconditions, Bindings, lists from a cache, and watches that start at a version or end because
// that version is too old. Clients reach it through a Conn, which is an http.RoundTripper. So
// client-go encodes the requests and decodes the answers. The server has no admission, and stores
// no events.
//
//	server := apisim.New(scheme, faults)
//	conn := server.Connect()
//	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://apisim", Transport: conn})
//	server.Create(pod) // by somebody whose requests have no faults
//	conn.Cut()         // the client's process is killed
//
// store.go has the objects and the log of their changes. write.go changes objects as the API server
// does. conn.go reads requests and answers them. watch.go sends changes to watches, and faults.go
// decides which requests fail.
package apisim
