// Package queueapi answers why a pod waits: it serves the scheduling queue as the
// aggregated API queue.numalet.dev, and has the client for command-line tools.
//
// The API server authenticates callers, and forwards their names in requests with its own client
// certificate. Access verifies the certificate, and asks the API server whether the caller may read
// pendingpods. So RBAC decides: the role view lets users see the pods of their namespaces.
//
//	handler := queueapi.New(queueapi.Source{List: queue.List, …, Allow: access.Allow})
//	pods, err := client.List(ctx, "team")
//
// types.go defines the resource; handler.go, discovery.go and table.go serve it; access.go checks
// who may read it; publish.go writes the certificate and the leader's address to the API server.
package queueapi
