package forecast

import (
	"container/list"
	"math"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Class has the properties that a pod shares with others that probably run for a similar time.
type Class struct {
	Tenant string
	GPUs   int // and parts of GPUs
}

// ClassOf returns the class of a pod. It leaves out the types of GPU that the pod requests, because
// a running pod tells only which type it got.
func ClassOf(pod *sched.Pod, tenant string) Class {
	return Class{tenant, pod.GPUs.Count + pod.GPUs.Part.Count}
}

// key is a class or a set of classes: all of a tenant, all with the same number of GPUs, or all.
type key struct {
	level int
	Class
}

// keys returns the keys that a class belongs to, the most specific first.
func (c Class) keys() [4]key {
	return [4]key{{0, c}, {1, Class{Tenant: c.Tenant}}, {2, Class{GPUs: c.GPUs}}, {level: 3}}
}

const (
	// enough is how many run times a key needs. With fewer the next, less specific key
	// decides; the last one needs only one.
	enough = 5
	// maxKeys bounds the memory, to 4,096 · 256 · 16 bytes. The key that learned nothing
	// for the longest time is forgotten.
	maxKeys = 4096
)

// Runs are the run times of ended pods by class. Ended costs O(windowSize), and Left
// O(log windowSize). It is not safe for concurrent use.
type Runs struct {
	windows map[key]*list.Element // of *keyed
	recent  *list.List            // the key that learned last is at the front
}

type keyed struct {
	key
	window
}

// NewRuns returns a Runs that has seen no pod.
func NewRuns() *Runs { return &Runs{windows: map[key]*list.Element{}, recent: list.New()} }

// Ended records how long a pod ran. A negative time, which clocks that differ can cause, counts as
// 0.
func (r *Runs) Ended(c Class, took time.Duration) {
	for _, k := range c.keys() {
		r.at(k).learn(max(0, took))
	}
}

// at returns the window of a key. If there is none, it makes one, which replaces the window that
// was not used for the longest time.
func (r *Runs) at(k key) *window {
	if e, ok := r.windows[k]; ok {
		r.recent.MoveToFront(e)
		return &e.Value.(*keyed).window
	}
	if len(r.windows) >= maxKeys {
		oldest := r.recent.Remove(r.recent.Back()).(*keyed)
		delete(r.windows, oldest.key)
	}
	w := &keyed{key: k}
	r.windows[k] = r.recent.PushFront(w)
	return &w.window
}

// Empty reports whether no pod has ended yet.
func (r *Runs) Empty() bool { return len(r.windows) == 0 }

// Left returns how long a pod that has run for a time will run still: the q-quantile, for
// a q from 0 to 1, of what longer runs took beyond that time. A pod that has run longer
// than all others is expected to run as long again. It returns 0 if no pod has ended yet.
func (r *Runs) Left(c Class, ran time.Duration, q float64) time.Duration {
	ran = max(0, ran)
	for i, k := range c.keys() {
		e, ok := r.windows[k]
		if !ok {
			continue
		}
		need := enough
		if i == len(c.keys())-1 {
			need = 1
		}
		if longer := e.Value.(*keyed).longer(ran); len(longer) >= need {
			return longer[rank(q, len(longer))] - ran
		}
	}
	return ran
}

// rank returns the index of the q-quantile of n sorted values: of the smallest value that is at
// least as large as a fraction q of them.
func rank(q float64, n int) int {
	return min(max(1, int(math.Ceil(q*float64(n)))), n) - 1
}
