// Package forecast estimates when a pending pod will start: the times by which it has
// started in a half (P50) and in nine tenths (P90) of several simulated futures.
//
// A future draws how long each pod still runs from the run times of earlier pods of its class,
// given how long it has run already. It then releases the resources in that order, and serves
// the pods ahead in the order of the queue, with the reservations of the first of each type.
// Pods that arrive later are not foreseen.
//
// The package has no clock and no randomness of its own. A forecast is an estimate for
// people: nothing is scheduled by it.
//
//	runs := forecast.NewRuns()
//	runs.Ended(class, took) // for each pod that has ended
//	answer := forecast.Predict(present, runs, rand.New(rand.NewPCG(1, 0)))
package forecast
