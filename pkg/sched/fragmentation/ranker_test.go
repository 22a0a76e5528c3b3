package fragmentation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestReplacedNodes checks that the ranker does not grow when nodes with new names replace others,
// as with a cluster autoscaler, and that it then ranks the new nodes.
func TestReplacedNodes(t *testing.T) {
	s := newScene(1)
	const nodes = 3
	for i := range 100 {
		if old := fmt.Sprint("n", i-nodes); i >= nodes {
			s.Remove(old)
			delete(s.slots, old)
		}
		s.set(randomNode(s.r, fmt.Sprint("n", i)))
		s.check(t, randomPod(rand.New(rand.NewPCG(uint64(i%4), 0)), "new"))
	}
	if length, names := s.Size(); length != nodes || names != nodes {
		t.Errorf("the ranker has %d nodes and %d names, want %d", length, names, nodes)
	}
}
