package pool

// explicit takes the counts that the container itself names.
func (o *offer) explicit() (counts, bool) {
	n := make(counts, len(o.nodes))
	for i := range o.nodes {
		n[i] = o.want.PerNode[o.nodes[i].id]
		if n[i] > o.have(i) || n[i] > 0 && !o.fits(o.nodes[i]) {
			return nil, false
		}
	}
	return n, true
}
