// Package apiwriter creates the two objects that a scheduler creates for every pod,
// a Binding and an Event, with client-go's REST client.
//
// It knows how the two are sent at little cost: in protobuf, over HTTP/1.1, without
// decoding what the API server sends back. It refuses to send again what was not
// answered: the caller decides that. An error that is an APIStatus is the API server's
// answer; after any other error the object may exist or not.
//
//	bindings, err := apiwriter.NewBindings(config)
//	err = bindings.Create(ctx, binding)
package apiwriter
