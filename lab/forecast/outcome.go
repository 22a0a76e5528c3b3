package forecast

import (
	"time"

	"github.com/numalet/numalet/lab/fairness"
)

// Outcome is the result of a trial.
type Outcome struct {
	Pods     int // number of pods that arrived
	Unknown  int // number of pods without a forecast
	Unserved int // number of pods that had a forecast, but never started
	All      Errors
	Waited   Errors // only for the pods that waited longer than a second
}

// Errors holds the absolute errors of three predictions of how long pods wait. It covers only pods
// that had a forecast and started. Each list has one value for each of these pods.
type Errors struct {
	Waits    fairness.Waits // how long the pods waited
	Forecast fairness.Waits // error of the forecast's P50 (median)
	None     fairness.Waits // error of the prediction that the pod starts at once
	Mean     fairness.Waits // error of a third prediction: the mean waiting time of the pods that had started before the pod arrived
	ByP50    int            // number of pods that had started by the forecast's P50
	ByP90    int            // number of pods that had started by the forecast's P90
	WithP90  int            // number of pods whose forecast had a P90
}

func (e *Errors) add(f *forecastOf) {
	e.Waits = append(e.Waits, f.waited)
	e.Forecast = append(e.Forecast, (f.waited - f.p50).Abs())
	e.None = append(e.None, f.waited)
	e.Mean = append(e.Mean, (f.waited - f.mean).Abs())
	if f.waited <= f.p50 {
		e.ByP50++
	}
	if f.p90 >= 0 {
		e.WithP90++
	}
	if f.p90 >= 0 && f.waited <= f.p90 {
		e.ByP90++
	}
}

func (t *trial) outcome() Outcome {
	o := Outcome{Pods: len(t.all)}
	for _, f := range t.all {
		switch {
		case f.unknown != "":
			o.Unknown++
		case !f.started:
			o.Unserved++
		default:
			o.All.add(f)
			if f.waited > time.Second {
				o.Waited.add(f)
			}
		}
	}
	return o
}
