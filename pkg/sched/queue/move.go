package queue

import "slices"

// join makes an item one of its type's and its tenant's. It needs q.mu.
func (q *Queue) join(it *item) {
	i := slices.IndexFunc(q.mu.kinds, func(k *kind) bool { return k.name == it.Type })
	if i < 0 {
		i = len(q.mu.kinds)
		q.mu.kinds = append(q.mu.kinds, &kind{name: it.Type, strict: q.options.Strict, shares: map[string]*share{}})
	}
	it.kind = q.mu.kinds[i]
	it.share = it.kind.shares[it.Tenant]
	if it.share == nil {
		it.share = &share{tenant: it.Tenant, rank: q.env.Rank(it.Tenant, it.Type)}
		it.kind.shares[it.Tenant] = it.share
	}
	it.kind.pods++
	it.share.pods++
}

// quit undoes join, if there was one: nothing is kept of types and tenants without
// pods. It needs q.mu.
func (q *Queue) quit(it *item) {
	k := it.kind
	if k == nil {
		return
	}
	if it.share.pods--; it.share.pods == 0 {
		delete(k.shares, it.share.tenant)
	}
	if k.pods--; k.pods == 0 {
		i := slices.Index(q.mu.kinds, k)
		q.mu.kinds = slices.Delete(q.mu.kinds, i, i+1)
		if i <= q.mu.turn {
			q.mu.turn--
		}
	}
	it.kind, it.share = nil, nil
}

// leave takes an item out of what belongs to its state. It needs q.mu, and is to
// be called before anything of the item changes and it enters another state.
func (q *Queue) leave(it *item) {
	if it.lane != nil {
		it.lane.in.remove(it)
	}
	it.hopes, it.barred = false, false
}

// enter puts an item into a state, and into what belongs to that. It needs q.mu.
func (q *Queue) enter(it *item, s State) {
	q.mu.count[it.state]--
	q.mu.count[s]++
	it.state = s
	switch s {
	case Ready:
		it.kind.ready.insert(it)
		q.changed.Signal()
	case Out:
		if it.permitted && !it.yields {
			it.kind.waiting.insert(it)
		}
	case Waiting:
		it.kind.waiting.insert(it)
	case Parked:
		it.parked().insert(it)
	}
}

// parked returns where a parked item belongs.
func (it *item) parked() *order {
	if it.barred {
		return &it.kind.barred
	}
	return &it.kind.blocked
}
