package pack

// assign gives the demands their bins as the search filled them: of bins and of
// demands of one size, the first first.
func (s *search) assign(bins, demands, order []int) []int {
	free := map[int][]int{} // bins by size
	for b, size := range bins {
		free[size] = append(free[size], b)
	}
	waiting := map[int][]int{} // demands by size
	for _, d := range order {
		waiting[demands[d]] = append(waiting[demands[d]], d)
	}
	bin := make([]int, len(demands))
	for _, f := range s.filled {
		b := free[f.bin][0]
		free[f.bin] = free[f.bin][1:]
		for _, size := range f.demands {
			bin[waiting[size][0]] = b
			waiting[size] = waiting[size][1:]
		}
	}
	return bin
}
