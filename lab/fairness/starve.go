package fairness

import (
	"math"
	"time"

	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
)

// Starved is the result for one large pod that arrives at nodes full of small work, which
// never ends. Times are from its arrival.
type Starved struct {
	Large  Sample
	Began  bool          // it did, within Settings.For
	Waited time.Duration // until it began, or to the end
	// Held is when its final node was first reserved. Enough is when enough of the pods
	// that ran there at that time had ended for it to fit. Both are 0 if no node was
	// reserved.
	Held, Enough time.Duration
	Small        float64 // cards that small work had until then, of what it had without the large pod
	SmallAfter   float64 // the same, until the large pod has ended
}

// Ratio returns the waiting time divided by Enough; 1 means that the pod began when it fitted.
func (s Starved) Ratio() float64 {
	if s.Enough == 0 {
		return math.NaN()
	}
	return s.Waited.Seconds() / s.Enough.Seconds()
}

// Starve lets the sample that asks for the most cards, and of those for the most
// cores, come in the middle of Settings.For. Small samples, of one card at most, are
// sent by the users. It runs twice, with and without the large one.
func Starve(nodes []*sched.Node, samples []Sample, s Settings) (Starved, error) {
	large, small := split(suiting(nodes, samples))
	with, err := newTrial(nodes, small, s)
	if err != nil {
		return Starved{}, err
	}
	without, err := newTrial(nodes, small, s)
	if err != nil {
		return Starved{}, err
	}
	for _, t := range []*trial{with, without} {
		t.start()
		t.cluster.Run(s.For / 2)
		t.meter.reset(t.cluster.Now())
	}
	f := flood{trial: with, Starved: Starved{Large: large}}
	f.come()
	without.cluster.Run(f.Waited)
	f.Small = part(with, without)
	with.cluster.Run(large.Took)
	without.cluster.Run(large.Took)
	f.SmallAfter = part(with, without)
	return f.Starved, nil
}

// part returns the users' total in one trial as a fraction of that in another.
func part(a, b *trial) float64 {
	return a.meter.area(a.cluster.Now()) / b.meter.area(b.cluster.Now())
}

// flood is a trial with the large pod.
type flood struct {
	*trial
	Starved
	came time.Time
	on   string // the node that is held back for it
}

// come submits the large pod, and runs until it begins.
func (f *flood) come() {
	pod := *f.Large.Pod
	pod.UID, pod.Name = large, large
	f.came = f.cluster.Now()
	f.cluster.Submit(virtual.Work{Pod: &pod, Tenant: large, Takes: f.Large.Took})
	for f.Waited < f.For/2 && !f.Began {
		f.cluster.Run(time.Second)
		f.Waited += time.Second
		f.Began = !f.cluster.Waits(large)
		f.look(&pod)
	}
}

// look records the reservation of the large pod.
func (f *flood) look(pod *sched.Pod) {
	offer, ok := f.cluster.Reservation(large)
	if !ok || offer.Node == f.on {
		return
	}
	f.on, f.Held = offer.Node, f.Waited
	f.Enough = max(f.Held, f.cluster.Fits(pod, offer.Node).Sub(f.came))
}

// large is the large pod's name, and that of its tenant.
const large = "large"

// split returns the largest sample, and those of one card at most.
func split(samples []Sample) (large Sample, small []Sample) {
	for _, s := range samples {
		if large.Pod == nil || s.GPUs.Count > large.GPUs.Count || s.GPUs.Count == large.GPUs.Count && s.Requests.CPU > large.Requests.CPU {
			large = s
		}
		if s.GPUs.Count <= 1 {
			small = append(small, s)
		}
	}
	return large, small
}
