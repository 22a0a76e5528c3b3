// Package apiwriter writes what a scheduler writes for every pod, a Binding and an
// Event, at little cost: with client-go's typed clients over HTTP/2 each of the two
// took three times the processor time (docs/benchmarks/logs/performance.md).
//
// It knows how the two are sent and what the API server's answers mean; it
// refuses to hand back what was made, and to try again what was not answered. Who
// one is and whom one trusts remains client-go's, and HTTP net/http's but for the
// request, which is always the same, and the answer that nearly all get.
//
// Events go one right behind another (pipelining, RFC 9112 section 9.3.2): if the
// connection breaks, those without an answer are lost. That is no way for Bindings.
//
//	c, err := post.New(config)
//	err = c.Bind(ctx, binding) // an APIStatus where the API server has refused
package apiwriter
