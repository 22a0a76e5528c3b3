// Package post writes what a scheduler writes for every pod, a Binding and an
// Event, at little cost: with client-go's typed clients a bound pod took the
// controller a third more processor time (docs/performance.md).
//
// It knows how the two are sent and what the API server's answers mean; it
// refuses to hand back what was made, and to try again what was not answered. All
// about connections and who one is remains client-go's.
//
//	c, err := post.New(config)
//	err = c.Bind(ctx, binding) // an APIStatus where the API server has refused
package post
