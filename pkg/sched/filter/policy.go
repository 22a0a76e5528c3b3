package filter

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// NodePolicy says which of the nodes that fit is preferred: one of the orders of the index, or
// the order of package fragmentation. It implements the interfaces of encoding for text.
type NodePolicy struct {
	Index         distbucket.Policy
	Fragmentation bool // the index's order applies only to pods for which some nodes are named
}

// fragmentationName is the name of the policy that is not an order of the index.
const fragmentationName = "fragmentation"

// Apply returns a profile with the policy.
func (n NodePolicy) Apply(p Profile, o fragmentation.Options) Profile {
	p.Policy = n.Index
	if n.Fragmentation {
		p.Ranker = fragmentation.New(o)
	}
	return p
}

// MarshalText writes the policy's name.
func (n NodePolicy) MarshalText() ([]byte, error) {
	if n.Fragmentation {
		return []byte(fragmentationName), nil
	}
	return []byte(n.Index.String()), nil
}

// UnmarshalText parses the name of a policy.
func (n *NodePolicy) UnmarshalText(text []byte) (err error) {
	*n = NodePolicy{}
	if string(text) == fragmentationName {
		n.Index, n.Fragmentation = distbucket.BestFit, true
		return nil
	}
	if n.Index, err = distbucket.ParsePolicy(string(text)); err != nil {
		return fmt.Errorf("%w, or %s", err, fragmentationName)
	}
	return nil
}
