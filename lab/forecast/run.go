package forecast

import (
	"slices"
	"time"

	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/forecast"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Arrival is a pod and the time of its arrival, counted from the beginning of the trial.
type Arrival struct {
	virtual.Work
	At time.Duration
}

// Settings configure a trial, which is one simulation.
type Settings struct {
	Seed    uint64 // seed of the random numbers in the forecasts
	Profile filter.Profile
	Turns   virtual.Turns // ByScore or ByAge
}

// Run runs a trial until all pods have arrived and no pod waits. It stops no later than
// maxDays days after the last pod has arrived, even if pods still wait.
func Run(nodes []*sched.Node, arrivals []Arrival, settings Settings) (Outcome, error) {
	decay, err := fairshare.NewDecay(fairshare.DefaultTimeConstant)
	if err != nil {
		return Outcome{}, err
	}
	state, err := nodestate.New(settings.Profile)
	if err != nil {
		return Outcome{}, err
	}
	for _, node := range nodes {
		state.SetNode(node)
	}
	t := &trial{seed: settings.Seed, runs: forecast.NewRuns(), asked: map[string]*forecastOf{}}
	t.cluster = virtual.NewCluster(state, virtual.Rules{Turns: settings.Turns, Decay: decay, Started: t.started, Ended: t.ended})
	until := time.Duration(0)
	for _, a := range arrivals {
		t.cluster.After(a.At, func() { t.arrive(a.Work) })
		until = max(until, a.At)
	}
	t.cluster.Run(until)
	for range maxDays {
		if t.idle() {
			break
		}
		t.cluster.Run(24 * time.Hour)
	}
	return t.outcome(), nil
}

// maxDays is the maximum number of days that Run waits, after the last arrival, for the pods that
// have not started.
const maxDays = 30

// trial is the state of a running trial.
type trial struct {
	seed    uint64 // seed of the first forecast; each later forecast has a seed that is larger by 1
	cluster *virtual.Cluster
	runs    *forecast.Runs
	asked   map[string]*forecastOf // by UID
	all     []*forecastOf          // in the order of arrival
	waits   time.Duration          // the sum of the waits of the pods that have started
	begun   int
}

// idle reports whether no pod waits.
func (t *trial) idle() bool { return len(t.cluster.Order()) == 0 }

// forecastOf has the prediction for a pod and how long the pod waited. Times count from the
// creation of the pod, when the prediction was made.
type forecastOf struct {
	unknown  forecast.Unknown
	p50, p90 time.Duration // p90 is negative if unknown
	mean     time.Duration // the mean wait of the pods that had started before the prediction
	waited   time.Duration
	started  bool
}

// arrive submits a pod and makes a forecast of its start.
func (t *trial) arrive(w virtual.Work) {
	t.cluster.Submit(w)
	now := t.cluster.Now()
	a := forecast.Predict(t.present(w), t.runs, t.seed+uint64(len(t.all)))
	f := &forecastOf{unknown: a.Unknown, p50: a.P50.Sub(now), p90: -1, mean: t.waits / time.Duration(max(1, t.begun))}
	if !a.P90.IsZero() {
		f.p90 = a.P90.Sub(now)
	}
	t.asked[w.Pod.UID] = f
	t.all = append(t.all, f)
}

// present returns the input of a forecast for a pod: the nodes, the running pods, and the pods that
// are ahead of it. A pod is ahead of the given pod if it comes earlier in the queue, or if it has a
// reservation.
func (t *trial) present(w virtual.Work) forecast.Present {
	p := forecast.Present{Now: t.cluster.Now(), Nodes: slices.Collect(t.cluster.Nodes()), Pod: waiting(w)}
	for _, r := range t.cluster.Running() {
		p.Running = append(p.Running, forecast.Running{
			Class: forecast.ClassOf(r.Pod, r.Tenant), UID: r.Pod.UID, Node: r.At.Node, Holds: sched.Hold(r.Pod, r.At), Since: r.Started,
		})
	}
	behind := false
	for _, r := range t.cluster.Order() {
		if r.Pod.UID == w.Pod.UID {
			behind = true
			continue
		}
		if _, reserved := t.cluster.Reservation(r.Pod.UID); !behind || reserved {
			p.Ahead = append(p.Ahead, waiting(r.Work))
		}
	}
	return p
}

func waiting(w virtual.Work) forecast.Waiting {
	return forecast.Waiting{Class: forecast.ClassOf(w.Pod, w.Tenant), Pod: w.Pod}
}

func (t *trial) started(ran virtual.Ran) {
	f := t.asked[ran.Pod.UID]
	f.waited, f.started = ran.Waited(), true
	t.waits += f.waited
	t.begun++
}

func (t *trial) ended(ran virtual.Ran) {
	t.runs.Ended(forecast.ClassOf(ran.Pod, ran.Tenant), t.cluster.Now().Sub(ran.Started))
}
