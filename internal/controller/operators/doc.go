// Package operators runs the operators of custom resources on one manager of
// controller-runtime: one cache, one set of clients, one start.
//
// It knows how the manager is set up and which metrics it has. It does not know the operators: each
// adds itself to the manager and says which objects are cached for it.
//
//	m, err := operators.New(config, operators.Options{Cached: cached, Log: log})
//	err = operators.Run(ctx, m)
package operators
