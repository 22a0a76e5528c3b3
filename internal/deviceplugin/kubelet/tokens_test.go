package kubelet

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

func TestCounts(t *testing.T) {
	nodes := func(cpus map[topology.NodeID]string) *topology.Machine {
		machine := &topology.Machine{}
		for id, list := range cpus {
			machine.Nodes = append(machine.Nodes, topology.Node{ID: id, CPUs: cpuset.MustParse(list)})
		}
		return machine
	}
	for name, tc := range map[string]struct {
		cpus     map[topology.NodeID]string
		reserved string
		want     map[topology.NodeID]count
	}{
		"reserved across nodes": {
			map[topology.NodeID]string{0: "0-3", 1: "4-7"}, "0,4-5",
			map[topology.NodeID]count{0: {4, 1, true}, 1: {4, 2, true}},
		},
		"reserved CPU offline": {
			map[topology.NodeID]string{0: "0-2"}, "3",
			map[topology.NodeID]count{0: {3, 0, true}},
		},
		"memory-only node": {
			map[topology.NodeID]string{0: "0-3", 2: ""}, "",
			map[topology.NodeID]count{0: {4, 0, true}},
		},
		"all reserved": {
			map[topology.NodeID]string{0: "0-1"}, "0-1",
			map[topology.NodeID]count{0: {2, 2, true}},
		},
		"sparse ids above the mask get no hint anywhere": {
			map[topology.NodeID]string{0: "0-1", 252: "2-3"}, "0",
			map[topology.NodeID]count{0: {2, 1, false}, 252: {2, 0, false}},
		},
		"more than 8 nodes get no hint": {
			map[topology.NodeID]string{0: "0", 1: "1", 2: "2", 3: "3", 4: "", 5: "", 6: "", 7: "", 8: ""}, "",
			map[topology.NodeID]count{0: {1, 0, false}, 1: {1, 0, false}, 2: {1, 0, false}, 3: {1, 0, false}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := counts(nodes(tc.cpus), cpuset.MustParse(tc.reserved))
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(count{})); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTokens checks which tokens (devices of a NUMA node) are listed. A list is written as the
// numbers of its tokens, with "-" before those that are Unhealthy.
func TestTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		count     count
		allocated string
		before    string
		want      string
	}{
		"all free":                           {count{4, 0, true}, "", "", "0 1 2 3"},
		"reserved":                           {count{4, 1, true}, "", "", "0 1 2 -3"},
		"all reserved":                       {count{2, 2, true}, "", "", "-0 -1"},
		"ten and more in order":              {count{11, 0, true}, "", "", "0 1 2 3 4 5 6 7 8 9 10"},
		"no CPU left":                        {count{0, 0, true}, "", "0 1", ""},
		"allocated never Unhealthy":          {count{4, 2, true}, "2 3", "", "-0 -1 2 3"},
		"Unhealthy ones stay so":             {count{4, 1, true}, "", "0 -1 2 3", "0 -1 2 3"},
		"one more reserved":                  {count{4, 2, true}, "3", "0 -1 2 3", "0 -1 -2 3"},
		"CPU offline, its ordinal allocated": {count{3, 1, true}, "3", "0 1 2 3", "0 -1 3"},
		"more allocated than allocatable":    {count{4, 3, true}, "0 1", "", "0 1 -2 -3"},
		"more allocated than there are CPUs": {count{1, 0, true}, "0 2", "0 1 2", "0 2"},
		"off with a container still running": {count{0, 0, true}, "1", "0 1", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			allocated := map[string]bool{}
			for _, d := range parseTokens(tc.allocated) {
				allocated[d.ID] = true
			}
			got := tokens(1, tc.count, allocated, parseTokens(tc.before))
			if diff := cmp.Diff(tc.want, printTokens(got)); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTokensKeepTheirPromises changes the CPUs and the allocated tokens of one NUMA
// node at random. After each change, it checks what the comment of the function
// `tokens` promises.
func TestTokensKeepTheirPromises(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var now []*pluginapi.Device
		for range 20 {
			n := count{cpus: rng.IntN(9)}
			n.reserved = rng.IntN(n.cpus + 1)
			allocated := map[string]bool{}
			for _, d := range now { // the kubelet allocates Healthy ones only
				if d.Health == pluginapi.Healthy && rng.IntN(3) == 0 {
					allocated[d.ID] = true
				}
			}
			before := printTokens(now)
			now = tokens(1, n, allocated, now)
			if why := broken(now, n, allocated); why != "" {
				t.Fatalf("%+v, allocated %v, after %q: %q: %s", n, allocated, before, printTokens(now), why)
			}
		}
	}
}

func broken(devices []*pluginapi.Device, n count, allocated map[string]bool) string {
	unhealthy, listed := 0, map[string]bool{}
	for _, device := range devices {
		if device.Health == pluginapi.Unhealthy {
			unhealthy++
			if allocated[device.ID] {
				return "an allocated token is Unhealthy"
			}
		}
		listed[device.ID] = true
	}
	for id := range allocated {
		if !listed[id] {
			return "an allocated token is missing"
		}
	}
	if len(devices) != len(listed) || len(devices) != max(n.cpus, len(allocated)) {
		return "capacity is not the CPUs (or what is allocated, if more)"
	}
	if unhealthy != min(n.reserved, len(devices)-len(allocated)) {
		return "Unhealthy are not the reserved (or what is free, if less)"
	}
	return ""
}

func TestTokenHints(t *testing.T) {
	with, without := tokens(5, count{1, 0, true}, nil, nil)[0], tokens(5, count{1, 0, false}, nil, nil)[0]
	if got := with.GetTopology().GetNodes(); len(got) != 1 || got[0].ID != 5 {
		t.Errorf("hint %v, want NUMA node 5", got)
	}
	if without.Topology != nil {
		t.Errorf("hint %v, want none", without.Topology)
	}
}

func parseTokens(text string) []*pluginapi.Device {
	var devices []*pluginapi.Device
	for _, word := range strings.Fields(text) {
		ordinal, unhealthy := strings.CutPrefix(word, "-")
		devices = append(devices, newDevice("numa1-cpu-"+ordinal, !unhealthy, 1, false))
	}
	return devices
}

func printTokens(devices []*pluginapi.Device) string {
	var words []string
	for _, device := range devices {
		sign := ""
		if device.Health == pluginapi.Unhealthy {
			sign = "-"
		}
		words = append(words, fmt.Sprint(sign, strings.TrimPrefix(device.ID, "numa1-cpu-")))
	}
	return strings.Join(words, " ")
}
