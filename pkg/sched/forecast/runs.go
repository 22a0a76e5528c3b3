package forecast

import (
	"container/list"
	"math"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Class has the properties by which pods are grouped. Pods of one class probably run for similar
// times.
type Class struct {
	Tenant string
	GPUs   int // number of GPUs and parts of GPUs
}

// ClassOf returns the class of a pod. The class leaves out the types of GPU that a pod requests,
// because these types are not known for a running pod; only the type of GPU that the pod got is
// known.
func ClassOf(pod *sched.Pod, tenant string) Class {
	return Class{tenant, pod.GPUs.Count + pod.GPUs.Part.Count}
}

// key is one class of pods, or a set of classes: all classes of one tenant, all classes with the
// same number of GPUs, or all classes.
type key struct {
	level int
	Class
}

// keys returns the class itself and the sets of classes that contain it, the most specific one
// first.
func (c Class) keys() [4]key {
	return [4]key{{0, c}, {1, Class{Tenant: c.Tenant}}, {2, Class{GPUs: c.GPUs}}, {level: 3}}
}

const (
	// enough is a minimum number of recorded run times. The method Left uses the run times of one
	// key (a class of pods or a set of classes) if at least this many of them are longer than the
	// time that the pod has already run. Otherwise it uses the next key, which is less specific.
	// For the last key, one such run time is enough.
	enough = 5
	// maxKeys is the maximum number of keys (classes of pods and sets of classes). It limits the
	// memory to 4,096 keys, each of which has 256 run times of 16 bytes. When a new key is added
	// beyond this number, it replaces the key to which no run time was added for the longest time.
	maxKeys = 4096
)

// Runs has the run times of ended pods, by class. It is not safe for concurrent use.
type Runs struct {
	windows map[key]*list.Element // the Value of each element is a *keyed
	recent  *list.List            // the same elements; the one to which a run time was added last is at the front
}

type keyed struct {
	key
	window
}

// NewRuns returns a Runs that has seen no pod.
func NewRuns() *Runs { return &Runs{windows: map[key]*list.Element{}, recent: list.New()} }

// Ended records how long a pod ran. A negative time counts as 0. Such a time can result if two
// machines have different clocks.
func (r *Runs) Ended(c Class, took time.Duration) {
	for _, k := range c.keys() {
		r.at(k).learn(max(0, took))
	}
}

// The method `at` returns the window (the latest run times) of a key. If there is none, it makes
// one. If there are maxKeys windows already, the new window replaces the one to which no run time
// was added for the longest time.
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

// Left returns how much longer a pod of class c will run. The argument `ran` is the time for which
// the pod has already run. Left takes recorded run times that are longer than `ran`: those of the
// pod's class, or, if these are too few, those of a set of classes that contains the pod's class
// (see the constant `enough`). It subtracts `ran` from each of them, and returns the q-quantile,
// for a q from 0 to 1. If no recorded run time is longer than `ran`, Left returns `ran`: it assumes
// that the pod will run for as long as it has already run.
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

// rank returns the index of the q-quantile of n values that are sorted in ascending order. The
// q-quantile is the smallest value for which the following is true: at least the fraction q of all
// values are not greater than it.
func rank(q float64, n int) int {
	return min(max(1, int(math.Ceil(q*float64(n)))), n) - 1
}
