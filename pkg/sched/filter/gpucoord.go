package filter

import "github.com/numalet/numalet/pkg/sched"

// wholeGPUs counts the cards that are free as a whole, against the whole cards
// that the pod asks for. kind "" is every type.
func wholeGPUs(name, kind string) Dimension {
	return Dimension{name,
		func(n *sched.Node) int64 {
			return sum(n, kind, func(card sched.GPU) int64 { return int64(max(0, card.Free) / sched.WholeGPU) })
		},
		func(p *sched.Pod) int64 {
			if p.GPUs.Milli < sched.WholeGPU {
				return 0
			}
			return of(p, kind, int64(p.GPUs.Count))
		}}
}

// largestShare is the most that is free on one card, against what the pod asks
// of each of its cards.
func largestShare(name, kind string) Dimension {
	return Dimension{name,
		func(n *sched.Node) int64 {
			most := sched.MilliGPU(0)
			for _, card := range n.GPUs {
				if kind == "" || card.Type == kind {
					most = max(most, card.Free)
				}
			}
			return int64(most)
		},
		func(p *sched.Pod) int64 {
			if p.GPUs.Count == 0 {
				return 0
			}
			return of(p, kind, int64(p.GPUs.Milli))
		}}
}

// totalGPU is all that is free on all cards, against all that the pod asks for.
func totalGPU(name, kind string) Dimension {
	return Dimension{name,
		func(n *sched.Node) int64 {
			return sum(n, kind, func(card sched.GPU) int64 { return int64(max(0, card.Free)) })
		},
		func(p *sched.Pod) int64 { return of(p, kind, int64(p.GPUs.Count)*int64(p.GPUs.Milli)) }}
}

func sum(n *sched.Node, kind string, weight func(sched.GPU) int64) int64 {
	total := int64(0)
	for _, card := range n.GPUs {
		if kind == "" || card.Type == kind {
			total += weight(card)
		}
	}
	return total
}

// of returns what a pod asks of one type of card: nothing where the pod would
// take another type, too.
func of(p *sched.Pod, kind string, amount int64) int64 {
	if kind == "" || len(p.GPUs.Types) == 1 && p.GPUs.Types[0] == kind {
		return amount
	}
	return 0
}
