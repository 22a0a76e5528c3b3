package fragmentation

import (
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Options configure a Ranker.
type Options struct {
	Now func() time.Time // returns the present time; nil means that all pods count as if the Ranker had seen them at the same time
	// From the pods that it sees, a Ranker learns which requests are common (the learned workload).
	// A pod that was seen earlier counts less: TimeConstant is the time in which the weight of a
	// pod drops to 37 %. Zero means DefaultTimeConstant.
	TimeConstant time.Duration
	GPUResource  string // name of the extended resource whose free amount is the number of free GPUs, for nodes whose GPUs have no IDs
}

// DefaultTimeConstant is the default of Options.TimeConstant. With this time constant, a pod that
// was seen a week ago has 2 % of the weight of a pod that is seen now. The fair-share scores of
// tenants have the same default (fairshare.DefaultTimeConstant).
const DefaultTimeConstant = 42 * time.Hour

// Ranker ranks nodes for pods. It is safe for concurrent use. One lock guards all its data, which
// suffices because a ranking takes only a few microseconds.
//
// For each kind of pods (pods with equal requests), the scores of all nodes are cached. Set
// computes no scores. It only adds the changed node to a log. Best and Score read the log, and
// compute new scores for the changed nodes. The placement of a pod changes one node. The score of
// this node is computed again for each kind, when a pod of this kind is scheduled next. So if pods
// of k kinds are scheduled, each placement causes about k computations of scores, however many
// nodes there are. After these computations, Best compares the cached scores of all nodes. Two
// other designs were slower: to compute the scores of all nodes for each pod, and to compute a
// node's scores for all kinds whenever the node changes.
//
// Each pod that is seen changes the learned workload, which says which requests are common. Scores
// are computed with the measured workload, an earlier copy of the learned workload. The measured
// workload is replaced by a new copy only when the two differ much (mostDistance), because all
// scores must be computed again after a replacement.
type Ranker struct {
	options Options
	mu      struct {
		sync.Mutex
		workload workload
		counted  map[string]bool // UIDs of the existing pods that were added to the field `workload`
		pods     int             // number of pods that were added to the field `workload`, including those that no longer exist
		checkAt  int             // value of the field `pods` at which the method `learn` is called next
		typical  []want          // the measured workload
		measure  measure
		epoch    int // how often the fields `typical` and `measure` were replaced

		nodes    []machine
		index    map[string]int // index of each node in the field `nodes`, by name of the node
		unused   []int          // indexes of removed nodes; a new node gets one of them
		reserved map[int]bool   // indexes of nodes with a reservation
		log      changes
		rankings map[kind]*ranking
		uses     uint64
		lots     []lot // buffer
		found    []int // buffer
	}
}

// machine is one node.
type machine struct {
	slot   *sched.Slot
	record *sched.Node // nil if the node was removed
	stock  stock       // free amounts without those that are reserved for a waiting pod
	free   sched.MilliGPU
	lost   float64
}

// New returns a ranker without nodes.
func New(o Options) *Ranker {
	if o.Now == nil {
		o.Now = func() time.Time { return time.Time{} }
	}
	if o.TimeConstant <= 0 {
		o.TimeConstant = DefaultTimeConstant
	}
	r := &Ranker{options: o}
	r.mu.workload.constant = o.TimeConstant
	r.mu.counted, r.mu.index, r.mu.reserved, r.mu.rankings = map[string]bool{}, map[string]int{}, map[int]bool{}, map[kind]*ranking{}
	return r
}

// Set adds a node, or updates it, with the given record. The argument `slot` stores the node's
// newest record. Best returns the slot, so that its callers can read this record.
func (r *Ranker) Set(slot *sched.Slot, record *sched.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, known := r.mu.index[record.Name]
	if !known {
		i = r.newIndex()
		r.mu.index[record.Name] = i
	}
	delete(r.mu.reserved, i)
	if record.Reserved != nil {
		r.mu.reserved[i] = true
	}
	m := &r.mu.nodes[i]
	m.slot, m.record, m.stock = slot, record, stockOf(record.For(""), r.options.GPUResource, m.stock.lots)
	m.free, m.lost = m.stock.free(), r.mu.measure.lost(&m.stock)
	r.mu.log.add(i)
}

// newIndex returns an index for a new node. It reuses the indexes of removed nodes, so that the
// ranker's lists do not grow when nodes with new names replace others. The caller must hold r.mu.
func (r *Ranker) newIndex() int {
	if last := len(r.mu.unused) - 1; last >= 0 {
		i := r.mu.unused[last]
		r.mu.unused = r.mu.unused[:last]
		return i
	}
	r.mu.nodes = append(r.mu.nodes, machine{})
	return len(r.mu.nodes) - 1
}

// Remove removes a node. A node that is added later may get the removed node's index in the
// ranker's lists.
func (r *Ranker) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, known := r.mu.index[name]; known {
		r.mu.nodes[i] = machine{}
		delete(r.mu.index, name)
		r.mu.unused = append(r.mu.unused, i)
		delete(r.mu.reserved, i)
		r.mu.log.add(i)
	}
}

// Best appends the slots of the n best nodes for a pod, best first, and returns the extended slice.
// If n < 0, it appends the slots of all nodes that it considers. It considers only nodes with
// enough CPU, memory and GPUs for the pod. The caller has to check everything else that decides
// whether the pod fits.
func (r *Ranker) Best(to []*sched.Slot, pod *sched.Pod, n int) []*sched.Slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.ranking(requestOf(pod))
	defer r.withReservations(k, pod)()
	r.mu.found = r.mu.found[:0]
	if n < 0 || n >= len(r.mu.nodes) {
		r.mu.found = r.all(r.mu.found, k)
	} else {
		r.mu.found = r.best(r.mu.found, k, n)
	}
	for _, i := range r.mu.found {
		to = append(to, r.mu.nodes[i].slot)
	}
	return to
}

// withReservations stores new scores in k for the nodes on which resources are reserved for the
// pod. The new scores count the reserved resources as free, because the pod may use them. The
// result is a function that restores the earlier scores.
func (r *Ranker) withReservations(k *ranking, pod *sched.Pod) func() {
	var nodes []int
	for i := range r.mu.reserved {
		if record := r.mu.nodes[i].record; record.Reserved.UID == pod.Claim() {
			nodes = append(nodes, i)
			m := r.machineOf(record)
			k.scores[i] = r.gain(&m, &k.request)
		}
	}
	return func() {
		for _, i := range nodes {
			k.scores[i] = r.gain(&r.mu.nodes[i], &k.request)
		}
	}
}

// Score appends the score of a node for a pod, and returns the extended slice. The score consists
// of several numbers. A node with a larger score comes first in the order of Best; earlier numbers
// of the score take precedence. The first number is by how much the node's lost GPU capacity (see
// the type `measure`) would fall if the pod were placed there, in millionths of a GPU. It is the
// lowest int64 if the pod does not fit the node. The other numbers are the negated free GPU
// capacity, CPU and memory, because among nodes with the same first number, the one with less free
// is better.
func (r *Ranker) Score(to []int64, pod *sched.Pod, node *sched.Node) []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := requestOf(pod)
	if i, ok := r.mu.index[node.Name]; ok && r.mu.nodes[i].record == node && node.Reserved == nil {
		return r.mu.nodes[i].appendScore(to, r.ranking(want).scores[i])
	}
	m := r.machineOf(node.For(pod.Claim()))
	return m.appendScore(to, r.gain(&m, &want))
}

// appendScore appends the given score and the negated free amounts of the node.
func (m *machine) appendScore(to []int64, score int64) []int64 {
	return append(to, score, -int64(m.free), -int64(m.stock.cpu), -int64(m.stock.memory))
}

// machineOf returns a machine with the free amounts of a record. It does not subtract the amounts
// of record.Reserved. The caller must hold r.mu.
func (r *Ranker) machineOf(record *sched.Node) machine {
	m := machine{record: record, stock: stockOf(record, r.options.GPUResource, nil)}
	m.free, m.lost = m.stock.free(), r.mu.measure.lost(&m.stock)
	return m
}

// See adds a pod to the learned workload, which says which requests are common. It does nothing if
// the pod requests no GPUs, or was added before.
func (r *Ranker) See(pod *sched.Pod) {
	r.see(pod.UID, requestOf(pod), time.Time{})
}

// SeeHeld adds a bound pod to the learned workload. Callers use it to restore the workload after a
// restart. The argument `gpus` is the number of the pod's GPUs, and the argument `at` is the time
// at which it was bound, or zero if it was bound just now. The pod counts as a pod that allows any
// GPU type, because the types that it requested are not known.
func (r *Ranker) SeeHeld(uid string, holding sched.Holding, gpus int, at time.Time) {
	want := request{cpu: holding.CPU, memory: holding.Memory, count: max(gpus, len(holding.GPUs)), milli: sched.WholeGPU}
	if len(holding.GPUs) > 0 {
		want.milli = holding.GPUs[0].Milli
	}
	r.see(uid, want, at)
}

func (r *Ranker) see(uid string, want request, at time.Time) {
	if want.count <= 0 {
		return
	}
	if at.IsZero() {
		at = r.options.Now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.counted[uid] {
		return
	}
	r.mu.counted[uid] = true
	r.mu.workload.see(want, at)
	if r.mu.pods++; r.mu.pods >= r.mu.checkAt {
		r.mu.checkAt = r.mu.pods + max(firstCheck, r.mu.pods/8)
		r.learn()
	}
}

const (
	// From one call of the method `learn` to the next, at least firstCheck pods are added to the
	// learned workload. (It is called for the first time when the first pod is added.)
	firstCheck = 8
	// mostDistance is the largest allowed difference (see the function `distance`) between the learned
	// workload and the measured workload, with which scores are computed. If the difference is larger,
	// the measured workload is replaced.
	mostDistance = 0.1
)

// learn replaces the measured workload, with which scores are computed, by a copy of the learned
// workload if the two differ by more than mostDistance.
func (r *Ranker) learn() {
	typical := r.mu.workload.typical()
	if distance(typical, r.mu.typical) <= mostDistance {
		return
	}
	r.mu.typical, r.mu.measure = typical, newMeasure(typical)
	r.mu.epoch++
	for i := range r.mu.nodes {
		m := &r.mu.nodes[i]
		m.lost = r.mu.measure.lost(&m.stock)
	}
}

// Forget drops the UID of a pod that no longer exists, so that the memory for UIDs does not grow.
// The pod still counts in the learned workload.
func (r *Ranker) Forget(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.counted, uid)
}
