package fragmentation

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// want is one kind of pods, and its share of the sum of the weights of all pods.
type want struct {
	request
	share float64
}

// workload learns which kinds of pods with GPUs there are. Pods are of the same kind if their
// CPU, memory and GPU requests are equal. A pod that was seen at t has the weight
//
//	w = e^(−(now − t)/T)
//
// where now is the present time and T is a time constant. So if pods of a kind are no longer seen,
// the share of this kind falls. Only ratios of weights matter. Therefore, the stored weights of old
// pods are not lowered as time passes. Instead, a pod that is seen at t gets the weight e^((t −
// origin)/T), which grows with t. The field `origin` is at first the time at which the first pod was
// seen. It is set to a later time before weights become too large.
type workload struct {
	constant time.Duration // T
	origin   time.Time
	kinds    map[kind]*seen
	total    float64 // weight of all pods
}

// seen is one kind of pods, and the sum of the weights of its pods.
type seen struct {
	request
	kind   kind
	weight float64
}

// kind identifies the pods that request the same resources.
type kind struct {
	cpu    sched.MilliCPU
	memory sched.Bytes
	count  int
	milli  sched.MilliGPU
	types  string
}

func kindOf(r request) kind {
	return kind{r.cpu, r.memory, r.count, r.milli, strings.Join(r.types, "|")}
}

const (
	// mostKinds is the maximum number of kinds in the learned workload.
	mostKinds = 1024
	// mostTypical and typicalShare limit the kinds in the measured workload, with which scores are
	// computed. The time to compute a score is proportional to the number of kinds, and rare kinds
	// hardly change the result. In a simulation with Alibaba's openb trace, a typicalShare of 0.95
	// allocates 95.48 % of the GPUs, and 0.99 allocates 95.53 %.
	mostTypical  = 128
	typicalShare = 0.99
	// mostGrowth is the largest exponent of a new weight. If the exponent would be larger, all weights
	// are scaled down and workload.origin is set to a later time, so that weights do not overflow.
	mostGrowth = 100
)

// see adds a pod with the request r to the workload. The argument `at` is the time at which the pod
// was seen. The method ignores pods whose number of GPUs is 0, such as pods that request parts of
// GPUs as extended resources.
func (w *workload) see(r request, at time.Time) {
	if r.count <= 0 || r.milli <= 0 {
		return
	}
	weight := w.weightAt(at)
	k := kindOf(r)
	if w.kinds[k] == nil {
		w.kinds[k] = &seen{request: r, kind: k}
	}
	w.kinds[k].weight += weight
	w.total += weight
	if len(w.kinds) > mostKinds {
		w.keep(w.heaviest()[:mostKinds/2])
	}
}

// weightAt returns the weight of a pod that is added to the workload at the given time. The weight
// is a power of e. If its exponent would be larger than mostGrowth, weightAt first scales down the
// weights of all kinds and sets w.origin to the given time, so that the exponent is 0.
func (w *workload) weightAt(at time.Time) float64 {
	if w.kinds == nil {
		w.kinds, w.origin = map[kind]*seen{}, at
	}
	growth := at.Sub(w.origin).Seconds() / w.constant.Seconds()
	if growth > mostGrowth {
		for _, s := range w.kinds {
			s.weight *= math.Exp(-growth)
		}
		w.total *= math.Exp(-growth)
		w.origin, growth = at, 0
	}
	return math.Exp(growth)
}

// keep forgets all kinds except the given ones.
func (w *workload) keep(some []*seen) {
	w.kinds, w.total = map[kind]*seen{}, 0
	for _, s := range some {
		w.kinds[s.kind] = s
		w.total += s.weight
	}
}

// heaviest returns the kinds by descending weight.
func (w *workload) heaviest() []*seen {
	return slices.SortedFunc(maps.Values(w.kinds), func(a, b *seen) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), a.kind.compare(b.kind))
	})
}

func (k kind) compare(l kind) int {
	return cmp.Or(cmp.Compare(k.count, l.count), cmp.Compare(k.milli, l.milli), strings.Compare(k.types, l.types), cmp.Compare(k.cpu, l.cpu), cmp.Compare(k.memory, l.memory))
}

// typical returns the kinds with the largest weights that together have at least typicalShare of
// the total weight, but not more than mostTypical kinds. The shares of the returned kinds add up to
// 1.
func (w *workload) typical() []want {
	var all []want
	sum := 0.0
	for _, s := range w.heaviest() {
		if len(all) == mostTypical || sum >= typicalShare*w.total {
			break
		}
		all = append(all, want{request: s.request, share: s.weight})
		sum += s.weight
	}
	for i := range all {
		all[i].share /= sum
	}
	return all
}

// distance returns how much two workloads differ: half of the sum of the absolute differences of
// the kinds' shares. It is 0 for equal workloads, and 1 for two non-empty workloads that have no
// kind in common.
func distance(a, b []want) float64 {
	shares := map[kind]float64{}
	for _, w := range a {
		shares[kindOf(w.request)] += w.share
	}
	for _, w := range b {
		shares[kindOf(w.request)] -= w.share
	}
	sum := 0.0
	for _, difference := range shares {
		sum += math.Abs(difference)
	}
	return sum / 2
}
