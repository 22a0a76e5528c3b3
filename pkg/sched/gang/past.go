package gang

// Succeeded says that a pod of a gang has succeeded, and whose it was. Those of its
// owner count on it as on one that is bound, until it is Forgotten.
func (q *Queue) Succeeded(uid, id, owner string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.past[uid] != nil {
		return
	}
	q.remove(uid)
	g := q.gang(id)
	if g.succeeded[owner] == nil {
		g.succeeded[owner] = map[string]bool{}
	}
	g.succeeded[owner][uid] = true
	q.mu.past[uid] = g
	q.settle(g)
}

// Forgotten says that there is no longer a pod that had Succeeded.
func (q *Queue) Forgotten(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.mu.past[uid]
	if g == nil {
		return
	}
	delete(q.mu.past, uid)
	for owner, uids := range g.succeeded {
		if delete(uids, uid); len(uids) == 0 {
			delete(g.succeeded, owner)
		}
	}
	q.settle(g)
}
