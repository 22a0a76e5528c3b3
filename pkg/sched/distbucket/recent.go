package distbucket

// recent are the last updates of nodes, in order: the tree by coordinate does not know them yet.
type recent []update

// update enters updates.
func (t *tree) update(updates recent) {
	for _, u := range updates {
		t.replace(u.old, u.now)
	}
}

// stale says whether an entry is no longer the newest of its node.
func (r recent) stale(e *entry) bool {
	for i := range r {
		if r[i].old == e {
			return true
		}
	}
	return false
}

// newest returns the newest entry of a node, given one.
func (r recent) newest(e *entry) *entry {
	for i := range r {
		if r[i].old == e {
			e = r[i].now
		}
	}
	return e
}

// news appends the newest entries that the tree does not know and that cover the request, the first by policy first.
func (a *asking) news(dst []*entry) []*entry {
	for i, u := range a.view.recent {
		if !u.now.Free.Covers(a.Request) || a.view.recent[i+1:].stale(u.now) {
			continue
		}
		dst = append(dst, u.now)
		for k := len(dst) - 1; k > 0 && a.compare(dst[k], dst[k-1]) < 0; k-- {
			dst[k], dst[k-1] = dst[k-1], dst[k]
		}
	}
	return dst
}
