package distbucket

import "slices"

// draws is how often a node is drawn in the hope that it fits.
const draws = 64

// draw draws nodes until enough of them fit: as long as that works, each that fits is as likely as the other. It says whether it worked.
func (a *asking) draw(room []*entry) (int, bool) {
	t, taken := &a.view.byX, 0
	for range draws {
		e := a.view.recent.newest(t.at(a.Rand.IntN(t.size())))
		if !slices.Contains(room[:taken], e) && a.takes(e) {
			room[taken] = e
			taken++
		}
		if taken == len(room) {
			return taken, true
		}
	}
	return 0, false
}
