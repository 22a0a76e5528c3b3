package topology_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// machine returns a machine with three CPUs, one of them offline and one isolated, and two NUMA
// nodes with the IDs 0 and 8.
func machine() *topology.Machine {
	return &topology.Machine{
		CPUs: []topology.CPU{
			{ID: 0, Online: true},
			{ID: 1, NUMA: topology.Unknown, Core: topology.Unknown},
			{ID: 2, Online: true, Isolated: true, NUMA: 8},
		},
		Nodes: []topology.Node{{ID: 0, CPUs: cpuset.Of(0)}, {ID: 8, CPUs: cpuset.Of(2)}},
	}
}

func TestNodeIsFoundByID(t *testing.T) {
	for id, want := range map[topology.NodeID]string{0: "0", 8: "2", 1: "none", topology.Unknown: "none"} {
		got := "none"
		if n := machine().Node(id); n != nil {
			got = n.CPUs.String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("CPUs of node %d (-want +got):\n%s", id, diff)
		}
	}
}

func TestRestrict(t *testing.T) {
	m := machine()
	got := m.Restrict(cpuset.Of(1, 2))
	want := []topology.Node{{ID: 0}, {ID: 8, CPUs: cpuset.Of(2)}}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got.Nodes)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if got.Online().String() != "2" || m.Online().String() != "0,2" {
		t.Errorf("online: %s, and %s before; want 2, and 0,2 before", got.Online(), m.Online())
	}
}

func TestCoreKindString(t *testing.T) {
	for kind, want := range map[topology.CoreKind]string{
		topology.UnknownKind: "unknown", topology.Performance: "performance", topology.Efficiency: "efficiency", 99: "unknown",
	} {
		if got := kind.String(); got != want {
			t.Errorf("CoreKind(%d) = %q, want %q", kind, got, want)
		}
	}
}

func ExampleMachine() {
	m := machine()
	fmt.Println("online:", m.Online())
	fmt.Println("isolated:", m.Isolated())
	// Output:
	// online: 0,2
	// isolated: 2
}
