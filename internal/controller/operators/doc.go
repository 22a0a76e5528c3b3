// Package operators runs the operators of custom resources. All of them use one manager of
// controller-runtime, with one cache and one set of clients.
//
// Package operators knows how to create the manager, and which of the manager's metrics are
// served. It does not know the operators. Each operator adds itself to the manager, and can
// restrict which objects the manager caches.
//
//	m, err := operators.New(config, operators.Options{Cached: cached, Log: log})
//	err = operators.Run(ctx, m)
package operators
