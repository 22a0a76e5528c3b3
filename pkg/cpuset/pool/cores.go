package pool

// takeCores takes k CPUs of the cores of one last-level cache. It takes whole cores first, those
// with the most CPUs first. If one split core (a core of which only some CPUs are free) has enough
// for the rest, it takes the rest from the split core with the fewest free CPUs that suffices.
// Otherwise it takes the rest from several split cores, or if these do not suffice from an entirely
// free core.
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

// narrowest returns the core with the fewest free CPUs among those that qualify. If several have as
// few, it returns the first.
func (d *domain) narrowest(s *stock, qualifies func(core int) bool) (best int, ok bool) {
	for i := d.first; i < d.end; i++ {
		if qualifies(i) && (!ok || s.left[i] < s.left[best]) {
			best, ok = i, true
		}
	}
	return best, ok
}

// takeLoose takes k CPUs of cores of which only some CPUs are free. It begins with those that have
// the most free CPUs.
func (d *domain) takeLoose(k int, s *stock) {
	for width := d.width - 1; width > 0; width-- {
		for i := d.first; i < d.end && k > 0; i++ {
			if int(s.left[i]) == width && !s.whole(i) {
				k -= s.grab(i, k)
			}
		}
	}
}
