// Package forecast estimates when a pending pod will start. It simulates several futures of the
// cluster. P50 is the time by which the pod has started in half of the futures. P90 is the time by
// which the pod has started in nine tenths of the futures.
//
// Each future draws at random how long each running pod still runs. The run time is drawn from the
// run times of ended pods of the same class (Class), or of similar classes. Ended pods count only
// if they ran longer than the running pod has already run. The future then ends the running pods in
// the order of the drawn times. Whenever resources become free, the future starts the waiting pods
// that fit, in the order of the queue. Similar to package reservation, the future keeps nodes free
// for pods that do not fit yet, so that pods behind them in the queue do not take the resources
// that become free. A future does not consider pods that are created after the forecast.
//
// The package reads no clock, and its randomness comes from a seed. A forecast is information for
// users. The scheduler does not use it.
//
//	runs := forecast.NewRuns()
//	runs.Ended(class, took) // for each pod that has ended
//	answer := forecast.Predict(present, runs, 1) // 1 is the seed
package forecast
