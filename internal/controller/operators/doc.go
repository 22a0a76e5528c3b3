// Package operators has the operators of custom resources on one manager of
// controller-runtime: one cache, one set of clients, one start.
//
// It knows how that manager is set up and what it measures; it refuses to know the
// operators: each adds itself, and says what of the cluster is to be cached for it.
//
//	m, err := operator.New(config, operator.Options{Cached: cached, Log: log})
//	err = operator.Run(ctx, m)
package operators
