package podwriter

import "sync/atomic"

// maxUnanswered limits how many Bindings without an answer their callers leave to other goroutines.
// Without a limit, an API server that does not answer would get more and more requests. Pods whose
// volumes are prepared do not count.
const maxUnanswered = 1024

// slowBindings counts the Bindings without an answer that their callers have left to other goroutines.
type slowBindings struct{ n atomic.Int32 }

// limit returns a function that calls `detach` when it is called first, unless maxUnanswered Bindings
// count already. Its Binding then counts until `release` is called.
func (s *slowBindings) limit(detach func()) (limited, release func()) {
	counts := false
	limited = func() {
		switch {
		case counts:
		case s.n.Add(1) > maxUnanswered:
			s.n.Add(-1)
		default:
			counts = true
			detach()
		}
	}
	release = func() {
		if counts {
			s.n.Add(-1)
		}
	}
	return limited, release
}
