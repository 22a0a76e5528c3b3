package openb

import (
	"io"
	"math"
	"time"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/pkg/sched"
)

// maxSeconds is the longest time.Duration in whole seconds.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// ReadSamples reads pods as ReadPods does. It also reads how long the pods ran, from the columns
// scheduled_time and deletion_time, in seconds. Pods that never ran or did not end are left out. A
// run time is at least one second.
func ReadSamples(r io.Reader) ([]fairness.Sample, error) {
	var samples []fairness.Sample
	err := eachPod(r, func(row *row, pod *sched.Pod) {
		if took, ok := ran(row); ok {
			samples = append(samples, fairness.Sample{Pod: pod, Took: took})
		}
	}, "scheduled_time", "deletion_time")
	return samples, err
}

// Arrival is a sample and the time when its pod was created, counted from the beginning of the
// trace.
type Arrival struct {
	fairness.Sample
	At time.Duration
}

// ReadArrivals reads samples as ReadSamples does. It also reads when the pod of each sample was
// created, from the column creation_time, in seconds.
func ReadArrivals(r io.Reader) ([]Arrival, error) {
	var arrivals []Arrival
	err := eachPod(r, func(row *row, pod *sched.Pod) {
		if took, ok := ran(row); ok {
			at := time.Duration(row.upTo(maxSeconds, "creation_time")) * time.Second
			arrivals = append(arrivals, Arrival{fairness.Sample{Pod: pod, Took: took}, at})
		}
	}, "creation_time", "scheduled_time", "deletion_time")
	return arrivals, err
}

// ran returns how long a pod ran, and false if it never ran or did not end.
func ran(row *row) (took time.Duration, ok bool) {
	if row.text("scheduled_time") == "" || row.text("deletion_time") == "" {
		return 0, false
	}
	seconds := row.upTo(maxSeconds, "deletion_time") - row.upTo(maxSeconds, "scheduled_time")
	if seconds < 0 {
		row.wrong("deletion_time", "a time that is not before scheduled_time")
	}
	return time.Duration(max(1, seconds)) * time.Second, true
}
