package pool

// takeCores takes k CPUs of the cores of one last-level cache. It first takes entirely free cores
// as a whole, but no core with more CPUs than are still needed. Of these cores, it takes those with
// the most CPUs first (a core has fewer CPUs if some are offline). If CPUs are still missing then,
// all the missing CPUs come from the first entry of this list that has enough free CPUs:
//
//   - one split core (a core of which only some CPUs are free); of several, the one with the fewest
//     free CPUs
//   - several split cores
//   - one entirely free core
func (d *domain) takeCores(k int, s *stock) {
	for width := d.width; width > 0; width-- {
		for i := d.first; i < d.end && k >= width; i++ {
			if len(s.cores[i]) == width && s.whole(i) {
				k -= s.grab(i, width)
			}
		}
	}
	if k == 0 {
		return
	}
	if i, ok := d.narrowest(s, func(i int) bool { return !s.whole(i) && int(s.left[i]) >= k }); ok {
		s.grab(i, k)
		return
	}
	if t := d.tally(s); t.free-t.whole >= k {
		d.takeLoose(k, s)
		return
	}
	if i, ok := d.narrowest(s, s.whole); ok {
		s.grab(i, k)
	}
}

// narrowest considers the cores of d for which the function given as `qualifies` returns true, and
// returns the one with the fewest free CPUs. If several cores have equally few, it returns the
// first of them.
func (d *domain) narrowest(s *stock, qualifies func(core int) bool) (best int, ok bool) {
	for i := d.first; i < d.end; i++ {
		if qualifies(i) && (!ok || s.left[i] < s.left[best]) {
			best, ok = i, true
		}
	}
	return best, ok
}

// takeLoose takes k CPUs from split cores (cores of which only some CPUs are free). It begins with
// the cores that have the most free CPUs.
func (d *domain) takeLoose(k int, s *stock) {
	for width := d.width - 1; width > 0; width-- {
		for i := d.first; i < d.end && k > 0; i++ {
			if int(s.left[i]) == width && !s.whole(i) {
				k -= s.grab(i, k)
			}
		}
	}
}
