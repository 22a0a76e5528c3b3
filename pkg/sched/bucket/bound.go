package bucket

// behind says whether every node in a box certainly comes behind e in the policy's order. False says nothing.
func (a *asking) behind(b *box, e *entry) bool {
	switch a.Policy {
	case LeastFit:
		return a.view.space.below(&b.high, e.x)
	case BestFit:
		return a.view.space.above(&b.low, e.x)
	}
	return false
}

// below says whether coordinates of amounts up to high certainly come before x, lexicographically.
func (s *space) below(high *code, x []int64) bool {
	for l, d := range s.order {
		switch least, most := s.amounts(d, x[l]); {
		case d >= 2*lanes || high.lane(d) >= lane(most+1):
			return false
		case high.lane(d) < lane(least):
			return true
		}
	}
	return false
}

// above says whether coordinates of amounts from low on certainly come after x, lexicographically.
func (s *space) above(low *code, x []int64) bool {
	for l, d := range s.order {
		switch least, most := s.amounts(d, x[l]); {
		case d >= 2*lanes || low.lane(d) <= lane(least-1):
			return false
		case low.lane(d) > lane(most):
			return true
		}
	}
	return false
}

// amounts returns the least and the most of dimension d that have coordinate x.
func (s *space) amounts(d int, x int64) (least, most int64) {
	return (x-1)*s.theta[d] + 1, x * s.theta[d]
}
