package controller

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDurationReachesDays checks that the histogram of waiting times has a bucket for a pod that
// waits for a week.
func TestDurationReachesDays(t *testing.T) {
	m, r := newMetrics(), prometheus.NewPedanticRegistry()
	m.register(r)
	m.wait.Observe((7 * 24 * time.Hour).Seconds())
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != prefix+"e2e_duration_seconds" {
			continue
		}
		buckets := f.GetMetric()[0].GetHistogram().GetBucket()
		if last := buckets[len(buckets)-1]; last.GetCumulativeCount() != 1 {
			t.Errorf("a wait of a week is above the last bucket, which ends at %g s", last.GetUpperBound())
		}
	}
}
