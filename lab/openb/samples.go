package openb

import (
	"io"
	"math"
	"time"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/pkg/sched"
)

// maxSeconds is the longest time.Duration.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// ReadSamples reads pods as ReadPods does, with the columns scheduled_time and
// deletion_time, in seconds. Pods that never ran or did not end are left out. Durations
// are at least one second.
func ReadSamples(r io.Reader) ([]fairness.Sample, error) {
	var samples []fairness.Sample
	err := eachPod(r, func(row *row, p *sched.Pod) {
		if row.text("scheduled_time") == "" || row.text("deletion_time") == "" {
			return
		}
		took := row.upTo(maxSeconds, "deletion_time") - row.upTo(maxSeconds, "scheduled_time")
		if took < 0 {
			row.wrong("deletion_time", "a time that is not before scheduled_time")
		}
		samples = append(samples, fairness.Sample{Pod: p, Took: time.Duration(max(1, took)) * time.Second})
	}, "scheduled_time", "deletion_time")
	return samples, err
}
