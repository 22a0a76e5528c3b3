package distbucket

import "slices"

// leavesByNode returns the leaves in the order in which the policy comes to their nodes.
func (it *Iterator) leavesByNode() []Bucket {
	var leaves []Bucket
	for _, e := range it.inTurn() {
		have := slices.ContainsFunc(leaves, func(b Bucket) bool { return slices.Equal(b.X, e.x) })
		if !have && meets(e.x, it.x) {
			leaves = append(leaves, it.ask.view.bucket(e.x))
		}
	}
	return leaves
}

// inTurn returns all candidates in the policy's order. O(n log n): for people and tests.
func (it *Iterator) inTurn() []*entry {
	all := slices.Clone(it.ask.among)
	if it.ask.Candidates == nil {
		all = slices.AppendSeq(all, it.ask.view.each)
	}
	slices.SortFunc(all, it.ask.compare)
	all = slices.Compact(all)
	if it.ask.Policy == Random {
		it.ask.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}
