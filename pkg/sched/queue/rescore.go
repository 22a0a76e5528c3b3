package queue

// Rescore moves the pods of a tenant to where they belong by its scores of now.
func (q *Queue) Rescore(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range q.mu.kinds {
		if s, ok := k.shares[tenant]; ok {
			s.rescore(q.env.Rank(tenant, k.name))
		}
	}
	q.changed.Broadcast()
}

// RescoreAll is Rescore for all tenants with pending pods.
func (q *Queue) RescoreAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range q.mu.kinds {
		for tenant, s := range k.shares {
			s.rescore(q.env.Rank(tenant, k.name))
		}
	}
	q.changed.Broadcast()
}
