package forecast

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// TestRun checks the forecasts for pods that arrive every 31 minutes at one node of 8 GPUs. Each
// pod requests 8 GPUs and runs for an hour. The first pod has the forecast that it starts at once,
// because it fits on the empty node. The second pod gets no forecast, because no pod has ended yet
// and so no run time is known. The forecasts for all other pods are exact. A simpler prediction,
// the mean of the waits so far, is too short for them.
func TestRun(t *testing.T) {
	var arrivals []Arrival
	for i := range 6 {
		name := fmt.Sprint("pod-", i)
		pod := &sched.Pod{UID: name, Name: name, Requests: sched.Amounts{Pods: 1}, GPUs: sched.GPURequest{Count: 8, Milli: sched.WholeGPU}}
		arrivals = append(arrivals, Arrival{virtual.Work{Pod: pod, Tenant: "ann", Takes: time.Hour}, time.Duration(i) * 31 * time.Minute})
	}
	o, err := Run(Nodes(1), arrivals, Settings{Profile: profile(t), Turns: virtual.ByAge})
	if err != nil {
		t.Fatal(err)
	}
	m := time.Minute
	want := Outcome{Pods: 6, Unknown: 1, Waited: Errors{
		Waits: fairness.Waits{58 * m, 87 * m, 116 * m, 145 * m}, Forecast: fairness.Waits{0, 0, 0, 0}, None: fairness.Waits{58 * m, 87 * m, 116 * m, 145 * m},
		Mean: fairness.Waits{43*m + m/2, 72*m + m/2, 87 * m, 116 * m}, ByP50: 4, ByP90: 4, WithP90: 4,
	}}
	want.All = Errors{
		Waits: append(fairness.Waits{0}, want.Waited.Waits...), Forecast: append(fairness.Waits{0}, want.Waited.Forecast...),
		None: append(fairness.Waits{0}, want.Waited.None...), Mean: append(fairness.Waits{0}, want.Waited.Mean...), ByP50: 5, ByP90: 5, WithP90: 5,
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func profile(t *testing.T) filter.Profile {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,pods")
	if err != nil {
		t.Fatal(err)
	}
	return filter.Profile{Space: space, Policy: distbucket.BestFit, Candidates: 1}
}

// TestWeek checks the properties of the synthetic week. Equal seeds must give equal weeks, and the
// pods must be in the order of their arrival. The load must be at least the requested load, and
// only slightly above it. About 80 % of the pods must arrive by day.
func TestWeek(t *testing.T) {
	all := Week(2, .9, 7)
	if diff := cmp.Diff(all, Week(2, .9, 7)); diff != "" {
		t.Errorf("equal seeds differ:\n%s", diff)
	}
	busy, byDay := 0., 0
	for i, a := range all {
		busy += a.Takes.Seconds() * float64(a.Pod.GPUs.Count)
		if hour := a.At % (24 * time.Hour) / time.Hour; hour >= 8 && hour < 20 {
			byDay++
		}
		if i > 0 && a.At < all[i-1].At || a.At >= week {
			t.Fatalf("pod %d arrives at %s: want the order of arrivals, within a week", i, a.At)
		}
	}
	if load := busy / (2 * gpusPerNode * week.Seconds()); load < .9 || load > 1.2 {
		t.Errorf("load %.2f, want 0.9 and little more", load)
	}
	if part := float64(byDay) / float64(len(all)); part < .75 || part > .85 {
		t.Errorf("%.2f of %d pods arrive by day, want 0.8", part, len(all))
	}
}
