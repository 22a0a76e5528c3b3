// Package queueapi tells users why their pods wait. It serves the scheduling queue as the
// aggregated API queue.numalet.dev. It also has a client for command-line tools.
//
// The API server authenticates callers, and forwards their requests and names with its own client
// certificate. Access verifies the certificate, and asks the API server whether the caller may read
// the resource pendingpods. So RBAC decides who may read what. For example, users with the role
// view in a namespace can read why the pods of this namespace wait.
//
//	handler := queueapi.New(queueapi.Source{List: queue.List, …, Allow: access.Allow})
//	pods, err := client.List(ctx, "team")
//
// types.go defines the resource pendingpods. handler.go, discovery.go and table.go serve this
// resource. access.go checks who may read it. publish.go writes the certificate and the address of
// the leader to the API server.
package queueapi
