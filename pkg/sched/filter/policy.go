package filter

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// NodePolicy says which of the nodes that fit a pod is preferred. Either it is a policy of the
// index (distbucket.Policy), or it is the policy of package fragmentation, which prefers the
// node on which the pod makes the least free GPU capacity useless to other pods. It implements
// encoding.TextMarshaler and encoding.TextUnmarshaler.
type NodePolicy struct {
	Index         distbucket.Policy
	Fragmentation bool // package fragmentation orders the nodes; Index applies only if certain nodes are named for a pod, or a GPU group offers GPUs
}

// fragmentationName is the name of the policy of package fragmentation.
const fragmentationName = "fragmentation"

// Apply returns the profile p with the node policy.
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
