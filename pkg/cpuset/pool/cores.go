package pool

// takeCores takes k CPUs of the cores of one cache. It takes whole cores first, widest
// first. The rest comes from the best-fitting core that is already split, otherwise from
// several such cores, otherwise from a whole core that it splits.
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

// narrowest returns the first core with the fewest free CPUs among those that qualify.
func (d *domain) narrowest(s *stock, qualifies func(core int) bool) (best int, ok bool) {
	for i := d.first; i < d.end; i++ {
		if qualifies(i) && (!ok || s.left[i] < s.left[best]) {
			best, ok = i, true
		}
	}
	return best, ok
}

// takeLoose takes k CPUs of cores that are already split, those with the most free CPUs
// first.
func (d *domain) takeLoose(k int, s *stock) {
	for width := d.width - 1; width > 0; width-- {
		for i := d.first; i < d.end && k > 0; i++ {
			if int(s.left[i]) == width && !s.whole(i) {
				k -= s.grab(i, k)
			}
		}
	}
}
