package fairness

import (
	"math"
	"time"

	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
)

// Starved is the result for one large pod. The large pod arrives when the nodes are full of small
// pods, and users keep submitting small pods after that. Times count from the arrival of the large
// pod. A second trial is the same, but without the large pod.
type Starved struct {
	Large   Sample
	Started bool          // whether the large pod started within the second half of Settings.For
	Waited  time.Duration // until the large pod started, or, if it did not, until the end
	// Reserved is when the large pod got its last reservation of a node. Free is when enough pods
	// on this node had ended for the large pod to fit. Only the pods that ran there at the time
	// Reserved count. Both are 0 if no node was reserved.
	Reserved, Free time.Duration
	Small          float64 // GPU time of the small pods until the large pod started, divided by their GPU time in the same period of the trial without the large pod
	SmallAfter     float64 // like Small, but for the period until the large pod ended
}

// Ratio returns Waited divided by Free. A ratio of 1 means that the pod started as soon as it fit.
// If no node was reserved, the ratio is NaN.
func (s Starved) Ratio() float64 {
	if s.Free == 0 {
		return math.NaN()
	}
	return s.Waited.Seconds() / s.Free.Seconds()
}

// Starve measures how long a large pod waits among small pods. In the trial, users submit copies of
// the given samples (example pods) that have at most one GPU. In the middle of Settings.For, a copy
// of the largest sample arrives. The largest sample is that with the most GPUs. If several samples
// have this number of GPUs, it is the one of them with the most CPU cores. Starve compares the
// trial with a second trial, in which this large pod does not arrive.
func Starve(nodes []*sched.Node, samples []Sample, settings Settings) (Starved, error) {
	large, small := split(Fitting(nodes, samples))
	with, err := newTrial(nodes, small, settings)
	if err != nil {
		return Starved{}, err
	}
	without, err := newTrial(nodes, small, settings)
	if err != nil {
		return Starved{}, err
	}
	for _, t := range []*trial{with, without} {
		t.start()
		t.cluster.Run(settings.For / 2)
		t.meter.reset(t.cluster.Now())
	}
	f := largeTrial{trial: with, Starved: Starved{Large: large}}
	f.submit()
	without.cluster.Run(f.Waited)
	f.Small = part(with, without)
	with.cluster.Run(large.Took)
	without.cluster.Run(large.Took)
	f.SmallAfter = part(with, without)
	return f.Starved, nil
}

// part returns the GPU time that the users got in the trial a, divided by the GPU time that they
// got in the trial b. Times before the arrival of the large pod do not count.
func part(a, b *trial) float64 {
	return a.meter.area(a.cluster.Now()) / b.meter.area(b.cluster.Now())
}

// largeTrial is the trial in which the large pod arrives.
type largeTrial struct {
	*trial
	Starved
	arrived time.Time
	node    string // the node that was last reserved for the large pod
}

// submit submits the large pod. Then it runs the trial until the large pod starts, but for at most
// half of Settings.For.
func (f *largeTrial) submit() {
	pod := *f.Large.Pod
	pod.UID, pod.Name = large, large
	f.arrived = f.cluster.Now()
	f.cluster.Submit(virtual.Work{Pod: &pod, Tenant: large, Takes: f.Large.Took})
	for f.Waited < f.For/2 && !f.Started {
		f.cluster.Run(time.Second)
		f.Waited += time.Second
		f.Started = !f.cluster.Waits(large)
		f.recordReservation(&pod)
	}
}

// recordReservation records the current time as the time of the large pod's reservation of a node.
// It does nothing if the large pod has no reservation, or if the last recorded reservation was on
// the same node.
func (f *largeTrial) recordReservation(pod *sched.Pod) {
	offer, ok := f.cluster.Reservation(large)
	if !ok || offer.Node == f.node {
		return
	}
	f.node, f.Reserved = offer.Node, f.Waited
	f.Free = max(f.Reserved, f.cluster.Fits(pod, offer.Node).Sub(f.arrived))
}

// large is the name of the large pod and of its tenant.
const large = "large"

// split returns the largest sample (see Starve), and all samples with at most one GPU.
func split(samples []Sample) (large Sample, small []Sample) {
	for _, sample := range samples {
		if large.Pod == nil || sample.GPUs.Count > large.GPUs.Count || sample.GPUs.Count == large.GPUs.Count && sample.Requests.CPU > large.Requests.CPU {
			large = sample
		}
		if sample.GPUs.Count <= 1 {
			small = append(small, sample)
		}
	}
	return large, small
}
