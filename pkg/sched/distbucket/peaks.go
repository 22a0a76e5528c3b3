package distbucket

// peaks say what several codes are at most: each of them is covered by one of the peaks. What is left over is 0.
//
// One peak would be the lane by lane maximum, which hides what matters most: where half of the nodes have no GPU left and the others no memory,
// it has both. While pods with a card each fill 5,000 half full nodes, four nodes for the next one take up to 2,000 looks with maxima alone, and 20
// to 50 with three peaks. A fourth saves a quarter of the looks where six dimensions run out independently of each other, and nothing here,
// and made changes half as expensive again (processor time, 30,000 nodes, busy machine).
type peaks [3]code

// add makes a code covered. If there are more peaks than places, the two that are nearest to each other become their maximum.
func (p *peaks) add(c code) {
	at := -1
	for i := range p {
		switch {
		case p[i].covers(&c):
			return
		case c.covers(&p[i]):
			p[i], at = code{}, i
		}
	}
	if at >= 0 {
		p[at] = c
		return
	}
	p.merge(c)
}

// merge makes one of two, and room for c.
func (p *peaks) merge(c code) {
	to, from, least := 0, len(p), p[0].far(&c)
	for i := range p {
		for j := i + 1; j < len(p); j++ {
			if d := p[i].far(&p[j]); d < least {
				to, from, least = i, j, d
			}
		}
		if d := p[i].far(&c); d < least {
			to, from, least = i, len(p), d
		}
	}
	if from == len(p) {
		p[to] = p[to].most(&c)
	} else {
		p[to], p[from] = p[to].most(&p[from]), c
	}
}

// covers says whether one of the peaks covers a code.
func (p *peaks) covers(want *code) bool {
	return p[0].covers(want) || p[1].covers(want) || p[2].covers(want)
}
