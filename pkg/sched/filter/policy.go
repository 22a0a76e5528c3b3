package filter

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// NodePolicy says which of the nodes that fit a pod is preferred. It is one of the policies of the
// index of nodes (distbucket.Policy), or the policy "fragmentation" of package fragmentation. The
// policy "fragmentation" prefers the node on which the smallest part of the free GPU capacity
// becomes useless to other pods. NodePolicy implements encoding.TextMarshaler and
// encoding.TextUnmarshaler.
type NodePolicy struct {
	Index distbucket.Policy
	// Fragmentation means that package fragmentation orders the nodes. For two kinds of pods, the
	// package orders only those nodes that the index of nodes has found with the policy in the field
	// Index. The first kind are pods that may be placed only on certain nodes: the package cannot
	// search only these nodes. The second kind are pods to which GPU groups offer GPUs
	// (sched.GPURequest.Offer): the package does not know GPU groups.
	Fragmentation bool
}

// fragmentationName is how configuration files name the policy of package fragmentation.
const fragmentationName = "fragmentation"

// Apply returns a copy of the scheduling profile p that uses the node policy n.
func (n NodePolicy) Apply(p Profile, o fragmentation.Options) Profile {
	p.Policy = n.Index
	if n.Fragmentation {
		p.Ranker = fragmentation.New(o)
	}
	return p
}

// MarshalText returns the policy's name.
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
