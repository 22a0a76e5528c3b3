package filters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// TestNominated checks that a pod does not use the room that another scheduler has made on a node
// for a pod of the same or a higher priority. It also checks that the room can be used once the
// nomination moves to another node or ends.
func TestNominated(t *testing.T) {
	s := newScene(t).with([]*v1.Node{node("a").Obj(), node("b").Obj()})
	var freed []string
	read := Reader{Cluster: s.cluster, Freed: func(node string) { freed = append(freed, node) }}
	requests := map[v1.ResourceName]string{"cpu": "3"}
	want := func(priority int32, want string) {
		t.Helper()
		if _, got := s.judge(s.proposer, pod("p").Priority(priority).Req(requests).Obj()); got != want {
			t.Errorf("with priority %d: %q, want %q", priority, got, want)
		}
	}
	nominated := pod("theirs").Priority(7).Req(requests)
	want(0, "0/0 nodes are available.")
	read.Nominate("theirs", nominated.NominatedNodeName("a").Obj())
	want(0, "0/1 nodes are available: 1 Insufficient cpu.")
	want(7, "0/1 nodes are available: 1 Insufficient cpu.")
	want(8, "0/0 nodes are available.")
	read.Nominate("theirs", nominated.NominatedNodeName("b").Obj())
	want(0, "0/1 nodes are available: 1 Insufficient cpu.")
	read.Nominate("theirs", nil)
	want(0, "0/0 nodes are available.")
	if diff := cmp.Diff([]string{"a", "b"}, freed); diff != "" {
		t.Errorf("nodes with more room (-want +got):\n%s", diff)
	}
}
