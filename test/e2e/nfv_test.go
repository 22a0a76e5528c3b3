//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// The CPUs of the machine nfv (test/cluster/internal/machine). Its NUMA nodes have the CPUs 0-3,
// 4-7, 8-11 and 12-15. Each NUMA node also has 8 huge pages of 2 MiB.
const (
	nfvReserved = "0-1,8-9"
	nfvIsolated = "4-7,14-15" // by the kernel parameter isolcpus
	nfvShared   = "0-3,8-13"  // the CPUs of shared containers while no CPU is exclusive
)

// TestNFVNode checks that the node publishes isolated CPUs like other CPUs, and does not publish
// reserved CPUs as allocatable.
func TestNFVNode(t *testing.T) {
	needNFV(t)
	ctx := start(t, time.Minute)
	checkPublished(ctx, t, map[int]int64{0: 2, 1: 4, 2: 2, 3: 4})
	published, err := cluster.Topology(ctx, cluster.Node())
	must(t, err)
	if got := published.Status.Machine.ReservedCPUs; got != nfvReserved {
		t.Errorf("the NodeTopology has the reserved CPUs %s, want %s", got, nfvReserved)
	}
	machine, err := cluster.Machine(ctx)
	must(t, err)
	if got := machine.Isolated().String(); got != nfvIsolated {
		t.Errorf("numalet topo has the isolated CPUs %s, want %s", got, nfvIsolated)
	}
}

// TestNFVIsolated checks which containers get the isolated CPUs. Shared containers never run on
// them. If a container requests exclusive CPUs of a NUMA node, it gets isolated CPUs if enough of
// them are free there. If not, it gets CPUs that are not isolated. When the container ends, its
// CPUs become shared again, unless they are isolated.
func TestNFVIsolated(t *testing.T) {
	needNFV(t)
	ctx := start(t, 5*time.Minute, "shared", "whole", "part", "rest")
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	if got := born(ctx, t, "shared", "c"); got.String() != nfvShared {
		t.Errorf("the shared container was born on %v, want %s", got, nfvShared)
	}
	for _, pod := range []struct {
		name, cpu    string
		on           map[topology.NodeID]int
		want, shared string
	}{
		{"whole", "4", map[topology.NodeID]int{1: 4}, "4-7", nfvShared},
		{"part", "2", map[topology.NodeID]int{3: 2}, "14-15", nfvShared},
		{"rest", "5", map[topology.NodeID]int{0: 1, 2: 2, 3: 2}, "2,10-13", "0-1,3,8-9"},
	} {
		create(ctx, t, e2eutil.Pod(pod.name, "", e2eutil.Container{Name: "c", CPU: pod.cpu, On: pod.on}))
		if got := born(ctx, t, pod.name, "c"); got.String() != pod.want {
			t.Errorf("%s was born on %v, want %s", pod.name, got, pod.want)
		}
		awaitCPUs(ctx, t, "shared", "c", cpuset.MustParse(pod.shared))
	}
	must(t, cluster.Delete(ctx, "whole", "part", "rest"))
	awaitCPUs(ctx, t, "shared", "c", cpuset.MustParse(nfvShared))
	checkLives(ctx, t)
}

// TestNFVHugePages checks that the huge pages of a pod with the CPU policy "single" come from the
// NUMA node of its CPUs.
func TestNFVHugePages(t *testing.T) {
	needNFV(t)
	const used = 5
	ctx := start(t, 3*time.Minute, "huge")
	before := freeHugePages(ctx, t)
	create(ctx, t, e2eutil.Pod("huge", "single", e2eutil.Container{Name: "c", CPU: "2", Huge: used}))
	first, _ := born(ctx, t, "huge", "c").First()
	want := slices.Clone(before)
	want[first/4] -= used
	for { // the program uses the pages only some time after the container has started
		diff := cmp.Diff(want, freeHugePages(ctx, t))
		if diff == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("free huge pages by NUMA node, while a pod on CPU %d uses %d (-want +got):\n%s", first, used, diff)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// freeHugePages returns the number of free huge pages of each NUMA node.
func freeHugePages(ctx context.Context, t *testing.T) []int {
	t.Helper()
	var free []int
	for text := range strings.FieldsSeq(line(ctx, t, "cat /sys/devices/system/node/node[0-3]/hugepages/hugepages-2048kB/free_hugepages")) {
		n, err := strconv.Atoi(text)
		must(t, err)
		free = append(free, n)
	}
	if len(free) != 4 {
		t.Fatalf("free huge pages of the NUMA nodes: %v, want four numbers", free)
	}
	return free
}

func needNFV(t *testing.T) {
	t.Helper()
	if cluster.Flavour != "nfv" {
		t.Skip("the machine has no isolated CPUs: run with -flavour nfv")
	}
}
