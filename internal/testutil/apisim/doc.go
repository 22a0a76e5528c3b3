// Package apisim is an API server in memory, which injects faults into the requests and watches of its
// clients. It is for tests in simulated time (testing/synctest).
//
// It is as strict as a real one where schedulers depend on it: resource versions, preconditions,
// Bindings, lists that a cache serves, and watches that begin at a version or end because it is too old.
// Clients reach it through a Conn, which is an http.RoundTripper, so that their own libraries encode
// the requests and interpret the answers. The server has no admission, and stores no events.
//
//	server := apisim.New(scheme, faults)
//	conn := server.Connect()
//	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://apisim", Transport: conn})
//	server.Create(pod) // by somebody whose requests have no faults
//	conn.Cut()         // the client's process is killed
//
// store.go keeps the objects and the log of their changes; write.go changes them as the API server does;
// conn.go reads requests and answers them; watch.go streams changes; faults.go decides what fails.
package apisim
