// Package apisim is a fake Kubernetes API server in memory. It injects faults into the requests and
// watches of its clients. It is for tests in simulated time (testing/synctest).
//
// The fake behaves like a real API server in all that schedulers depend on: resource versions,
// preconditions, Bindings, lists from a cache, and watches. A watch starts at a resource version,
// and ends with an error if that version is too old. Clients reach the server through a Conn, which
// implements http.RoundTripper. So client-go encodes the requests and decodes the answers as with a
// real server. The fake stores no events. It runs no admission policies, except that it refuses to
// create ConfigMaps. The controller tries to create a ConfigMap to check whether its admission
// policies are in force: they must refuse it (kubeapi.Confinement).
//
//	server := apisim.New(scheme, faults)
//	conn := server.Connect()
//	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://apisim", Transport: conn})
//	server.Create(pod) // the test itself creates the pod, without faults
//	conn.Cut()         // the client's process is killed
//
// store.go has the stored objects and the log of their changes. write.go changes objects as the API
// server does. conn.go reads requests and answers them. watch.go sends changes to watches, and
// faults.go decides which requests fail.
package apisim
