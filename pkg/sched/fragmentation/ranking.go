package fragmentation

import (
	"cmp"
	"math"
	"slices"
)

// ranking has the scores of all nodes for one kind of pods.
type ranking struct {
	request
	scores []int64 // by index of the node; unfit if pods of this kind do not fit the node
	upTo   uint64  // the field `scores` takes into account all entries of the log of changed nodes (the type `changes`) whose numbers are below this one
	epoch  int     // the ranker's epoch when scores were computed
	used   uint64  // value of the ranker's field `uses`, which counts the uses of all rankings, when this ranking was last used
}

// unfit is the score of a node that a pod does not fit.
const unfit = math.MinInt64

// mostRankings is the maximum number of rankings. It limits the memory, because each ranking has
// one score for each node.
const mostRankings = 256

// ranking updates the scores of all nodes for a request, and returns them. The caller must hold
// r.mu.
func (r *Ranker) ranking(want request) *ranking {
	r.mu.uses++
	k := kindOf(want)
	scores := r.mu.rankings[k]
	if scores == nil {
		if len(r.mu.rankings) >= mostRankings {
			r.dropOldest()
		}
		scores = &ranking{request: want, epoch: -1}
		r.mu.rankings[k] = scores
	}
	scores.used = r.mu.uses
	r.update(scores)
	return scores
}

// dropOldest removes the ranking that has not been used for the longest time.
func (r *Ranker) dropOldest() {
	var oldest kind
	least := uint64(math.MaxUint64)
	for k, scores := range r.mu.rankings {
		if scores.used < least {
			oldest, least = k, scores.used
		}
	}
	delete(r.mu.rankings, oldest)
}

// update computes the scores of the nodes that have changed since the last update of the ranking.
// If the ranker's field `measure` was replaced, or if the log of changed nodes has dropped entries
// that the ranking has not read, it computes all scores.
func (r *Ranker) update(k *ranking) {
	for len(k.scores) < len(r.mu.nodes) {
		k.scores = append(k.scores, unfit)
	}
	if k.epoch != r.mu.epoch || k.upTo < r.mu.log.first {
		for i := range r.mu.nodes {
			k.scores[i] = r.gain(&r.mu.nodes[i], &k.request)
		}
	} else {
		for i := range r.mu.log.since(k.upTo) {
			k.scores[i] = r.gain(&r.mu.nodes[i], &k.request)
		}
	}
	k.epoch, k.upTo = r.mu.epoch, r.mu.log.next()
}

// gain returns by how much the lost GPU capacity of a node (see the type `measure`) would fall if a
// pod with this request were placed there. It returns unfit if the pod does not fit the node.
func (r *Ranker) gain(m *machine, want *request) int64 {
	if m.record == nil || !m.stock.fits(want) {
		return unfit
	}
	after := m.stock.less(want, r.mu.lots)
	r.mu.lots = after.lots
	return score(m.lost, r.mu.measure.lost(&after))
}

// score returns before − after, in millionths of a GPU. The arguments are the lost GPU capacity of
// a node before and after a pod is placed there, in thousandths of a GPU. The result is rounded to
// an integer, so that floating-point errors of the sums do not decide between nodes.
func score(before, after float64) int64 { return int64(math.Round((before - after) * 1000)) }

// best appends the indexes of the n best nodes that the pod fits, best first. Among nodes with the
// same score, those with smaller free amounts come first, so that empty nodes stay empty.
func (r *Ranker) best(to []int, k *ranking, n int) []int {
	from, worst := len(to), int64(unfit)
	for i, score := range k.scores {
		full := len(to)-from == n
		if score == unfit || full && (score < worst || r.compare(k, i, to[len(to)-1]) >= 0) {
			continue
		}
		if full {
			to = to[:len(to)-1]
		}
		at := len(to)
		for at > from && r.compare(k, i, to[at-1]) < 0 {
			at--
		}
		to = slices.Insert(to, at, i)
		worst = k.scores[to[len(to)-1]]
	}
	return to
}

// The method `all` appends the indexes of all nodes that the pod fits, best first.
func (r *Ranker) all(to []int, k *ranking) []int {
	from := len(to)
	for i, score := range k.scores {
		if score != unfit {
			to = append(to, i)
		}
	}
	slices.SortFunc(to[from:], func(i, j int) int { return r.compare(k, i, j) })
	return to
}

// compare returns a negative number if node i is better than node j, and never 0 for different
// nodes.
func (r *Ranker) compare(k *ranking, i, j int) int {
	a, b := &r.mu.nodes[i], &r.mu.nodes[j]
	return cmp.Or(cmp.Compare(k.scores[j], k.scores[i]), cmp.Compare(a.free, b.free), cmp.Compare(a.stock.cpu, b.stock.cpu), cmp.Compare(a.stock.memory, b.stock.memory), cmp.Compare(i, j))
}
