// Package forecast estimates when a pending pod will start. It simulates several futures of the
// cluster. P50 is the time by which the pod has started in half of them, and P90 in nine tenths.
//
// Each future draws at random how long each running pod still runs. It draws from the run times of
// ended pods of the same class (Class) that ran longer than this pod has already run. The future
// then ends the pods in the order of these times. Whenever resources become free, it starts the
// waiting pods that fit, in the order of the queue. It makes reservations as package reservation
// does. It does not consider pods that are created later.
//
// The package reads no clock, and its randomness comes from a seed. A forecast is information for
// users. The scheduler does not use it.
//
//	runs := forecast.NewRuns()
//	runs.Ended(class, took) // for each pod that has ended
//	answer := forecast.Predict(present, runs, 1) // 1 is the seed
package forecast
