package distbucket

import "fmt"

// Policy says which of the nodes that fit comes first.
type Policy int

const (
	// LeastFit takes the most free first, dimensions compared in the index's order: it balances load.
	LeastFit Policy = iota
	// BestFit takes the least free that fits first, compared likewise: it packs.
	BestFit
	// FirstFit takes nodes in order of their names, whatever is free on them.
	FirstFit
	// NextFit is FirstFit that goes on behind Query.After, round and round.
	NextFit
	// Random takes any node that fits, each as likely as the other.
	Random
)

var policyNames = [...]string{LeastFit: "leastfit", BestFit: "bestfit", FirstFit: "firstfit", NextFit: "nextfit", Random: "random"}

// String returns the name by which users ask for the policy.
func (p Policy) String() string {
	if p < 0 || int(p) >= len(policyNames) {
		return fmt.Sprintf("policy(%d)", int(p))
	}
	return policyNames[p]
}

// ParsePolicy is the inverse of String.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("policy %q: want one of %v", name, policyNames)
}
