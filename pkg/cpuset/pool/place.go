package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// place returns the claims of a pod, or why it has none and what would help.
// It changes nothing.
func (l *Ledger) place(pod Pod) ([]Claim, *Refusal) {
	if r := l.check(pod); r != nil {
		return nil, r
	}
	claims, refusal := l.sparing(pod)
	if refusal != nil {
		alone := &Ledger{layout: l.layout, options: l.options}
		refusal.Never = !alone.fits(pod)
		pod.Policy = podspec.Random
		refusal.AtRandom = l.fits(pod)
	}
	return claims, refusal
}

func (l *Ledger) fits(pod Pod) bool {
	_, refusal := l.sparing(pod)
	return refusal == nil
}

// sparing plans a pod so that a CPU stays shared that is not isolated. Where the
// plan would take the last, it tries to do without one of each NUMA node in turn;
// which one of a node it is makes no difference to the counts.
func (l *Ledger) sparing(pod Pod) ([]Claim, *Refusal) {
	free := l.Free()
	claims, refusal := l.plan(pod, free)
	if refusal != nil || !l.starves(held(claims)) {
		return claims, refusal
	}
	for _, n := range l.layout.nodes {
		spare, ok := free.Intersect(n.cpus).Minus(l.layout.isolated).First()
		if !ok {
			continue
		}
		one := cpuset.Of(spare)
		if other, r := l.plan(pod, free.Minus(one).Minus(l.siblings(one))); r == nil {
			return other, nil
		}
	}
	return nil, &Refusal{
		Reason: NoneShared, Policy: pod.Policy, CPUs: held(claims).Len(), Free: l.layout.perNode(free),
	}
}
