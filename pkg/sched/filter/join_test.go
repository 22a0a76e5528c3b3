package filter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// machine returns a node. The argument `cpus` has the number of free CPUs of each NUMA node, and
// the argument `gpus` has the NUMA node of each GPU. The ID of a GPU is its index in `gpus`.
func machine(cpus []int, gpus ...topology.NodeID) *sched.Node {
	node := &sched.Node{Name: "n", Free: sched.Amounts{CPU: 1 << 40}, CoreWidth: 1}
	for id, free := range cpus {
		node.NUMA = append(node.NUMA, sched.NUMANode{ID: topology.NodeID(id), CPUs: free, FreeCPUs: free})
	}
	for i, on := range gpus {
		node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint(i), NUMA: on, Free: sched.WholeGPU})
	}
	return node
}

// joint returns a pod with the given containers. For example, "app 8 2" is an app container
// that requests 8 exclusive CPUs and 2 GPUs. A container with 0 CPUs uses the shared CPUs.
func joint(policy podspec.Policy, containers ...string) *sched.Pod {
	pod := &sched.Pod{UID: "p", CPUPolicy: policy}
	pod.GPUs.Milli = sched.WholeGPU
	for i, text := range containers {
		var kind string
		var cpus, gpus int
		if _, err := fmt.Sscan(text, &kind, &cpus, &gpus); err != nil {
			panic(err)
		}
		name := fmt.Sprint(kind, i)
		k := map[string]podspec.Kind{"init": podspec.Init, "sidecar": podspec.Sidecar, "app": podspec.App}[kind]
		if cpus > 0 {
			pod.Exclusive = append(pod.Exclusive, podspec.Container{Name: name, Kind: k, CPUs: cpus})
		}
		if gpus > 0 {
			pod.GPUs.PerContainer = append(pod.GPUs.PerContainer, sched.ContainerGPUs{Container: name, Kind: k, Count: gpus})
		}
	}
	for _, s := range pod.GPUs.Spans() {
		pod.GPUs.Count = max(pod.GPUs.Count, s.First+s.Count)
	}
	return pod
}

// TestJoin checks that with the CPU policy "single", the CPUs and GPUs of a container are on
// one NUMA node. With the other CPU policies, a container must get GPUs as near to its CPUs as
// possible.
func TestJoin(t *testing.T) {
	unknown := topology.NodeID(topology.Unknown)
	alike := machine([]int{8, 8}, unknown, unknown)
	alike.GPUs[0].ID, alike.GPUs[1].ID = "", ""
	for name, tc := range map[string]struct {
		node *sched.Node
		pod  *sched.Pod
		want string // GPUs by container, or a part of the reason why the pod does not fit
	}{
		"2 GPUs and 8 CPUs":             {machine([]int{8, 8}, 0, 1, 1, 0), joint(podspec.Single, "app 8 2"), "on 0: 0,3"},
		"where the GPUs are":            {machine([]int{8, 16}, 0, 1, 1), joint(podspec.Single, "app 8 2"), "on 1: 1,2"},
		"where the CPUs are":            {machine([]int{4, 8}, 0, 0, 1, 1), joint(podspec.Single, "app 8 2"), "on 1: 2,3"},
		"CPUs here and GPUs there":      {machine([]int{8, 4}, 0, 1, 1), joint(podspec.Single, "app 8 2"), "enough exclusive CPUs and GPUs"},
		"too few GPUs":                  {machine([]int{8, 8}, 0, 1), joint(podspec.Single, "app 8 3"), "Insufficient GPUs"},
		"too few CPUs":                  {machine([]int{4, 4}, 0, 0), joint(podspec.Single, "app 8 2"), "had no NUMA node with enough exclusive CPUs"},
		"CPUs on no NUMA node":          {machine([]int{6, 6}, 0, 0), joint(podspec.Single, "app 8 2"), "with enough exclusive CPUs"},
		"nobody tells where":            {machine([]int{8, 8}, unknown, unknown), joint(podspec.Single, "app 8 2"), "enough exclusive CPUs and GPUs"},
		"nobody has to tell where":      {machine([]int{8}, unknown, unknown), joint(podspec.Single, "app 8 2"), "on 0: 0,1"},
		"nobody tells them apart":       {alike, joint(podspec.Single, "app 8 2"), "on 0: "},
		"two containers":                {machine([]int{8, 8}, 1, 0, 0, 1), joint(podspec.Single, "app 8 1", "app 8 2"), "on 0: 1; on 1: 0,3"},
		"of shared CPUs: any":           {machine([]int{8, 8}, 0, 1, 1), joint(podspec.Single, "app 0 1", "app 8 2"), "0; on 1: 1,2"},
		"an init container's GPUs":      {machine([]int{8, 8}, 0, 1, 1), joint(podspec.Single, "init 8 2", "app 8 2"), "on 1: 1,2; on 1: 1,2"},
		"a sidecar and an init's":       {machine([]int{4, 8}, 0, 1, 1), joint(podspec.Single, "sidecar 4 1", "init 8 1", "app 8 2"), "on 0: 0; on 1: 1; on 1: 1,2"},
		"random: near":                  {machine([]int{0, 8}, 0, 0, 1), joint(podspec.Random, "app 8 1"), "on 1: 2"},
		"random: as near as can be":     {machine([]int{0, 8}, 0, 0, 1), joint(podspec.Random, "app 8 2"), "on 1: 2,0"},
		"spread: near to all":           {machine([]int{4, 4}, unknown, 1), joint(podspec.Spread, "app 8 1"), "on 0,1: 1"},
		"what has no CPUs, no near GPU": {machine([]int{8, 8}, 0, 1), joint(podspec.Random, "app 0 1", "app 8 1"), "0; on 1: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			at, why := Place(tc.pod, tc.node)
			if check := Check(tc.pod, tc.node); check != why {
				t.Errorf("Check says %q, Place %q", check, why)
			}
			got := why.String()
			if !why.Refuses() {
				got = shown(tc.pod, at)
			}
			if why.Refuses() && strings.Contains(got, tc.want) {
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("placement (-want +got):\n%s", diff)
			}
		})
	}
}

// shown returns a text with the NUMA nodes of the CPUs and the IDs of the GPUs of each
// container, such as "on 0: 1; on 1: 0,3".
func shown(pod *sched.Pod, at sched.Placement) string {
	split := pod.GPUs.Split(at.GPUs)
	var parts []string
	for _, w := range pod.GPUs.PerContainer {
		on := ""
		for _, container := range at.Containers {
			if container.Name == w.Container {
				on = "on " + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(nodesOf(container)), "[]")), ",") + ": "
			}
		}
		parts = append(parts, on+strings.Join(split[w.Container], ","))
	}
	return strings.Join(parts, "; ")
}

func nodesOf(container podspec.Container) (ids []topology.NodeID) {
	for id := range topology.NodeID(64) {
		if container.PerNode[id] > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestJoinTwin compares the results of Place with those of a search that tries all placements.
// It uses random small machines, and random pods with the CPU policy "single".
func TestJoinTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	fits, joined := 0, 0
	for i := range cases {
		pod, node := anyJoint(r), anyMachine(r)
		at, why := Place(pod, node)
		want := fitsWithGPUs(pod, node, nil)
		if want == why.Refuses() {
			t.Fatalf("case %d: fits = %v (%s), want %v\npod %+v\nnode %+v", i, !why.Refuses(), why, want, pod, node)
		}
		if why.Code == sched.NoLocalGPU {
			joined++
		}
		if why.Refuses() {
			continue
		}
		fits++
		if wrong := apart(pod, node, at); wrong != "" {
			t.Fatalf("case %d: %s\npod %+v\nnode %+v\nplacement %+v", i, wrong, pod, node, at)
		}
	}
	if fits < cases/20 || joined < cases/100 {
		t.Errorf("%d of %d cases fit, %d lack GPUs beside the CPUs: they prove little", fits, cases, joined)
	}
}

func anyMachine(r *rand.Rand) *sched.Node {
	cpus := make([]int, 2+r.IntN(2))
	for i := range cpus {
		cpus[i] = r.IntN(6)
	}
	gpus := make([]topology.NodeID, r.IntN(5))
	for i := range gpus {
		gpus[i] = topology.NodeID(r.IntN(len(cpus)+1) - 1)
	}
	n := machine(cpus, gpus...)
	if r.IntN(2) == 0 {
		n.Links = anyLinks(r, len(gpus))
	}
	return n
}

func anyJoint(r *rand.Rand) *sched.Pod {
	var containers []string
	for _, kind := range []string{"init", "sidecar", "init", "app", "app"} {
		if r.IntN(2) == 0 {
			containers = append(containers, fmt.Sprint(kind, " ", r.IntN(4), " ", r.IntN(3)))
		}
	}
	return joint(podspec.Single, containers...)
}

// fitsWithGPUs reports whether a pod fits a node. The parameter `given` says how many CPUs each of
// the pod's first containers has on each NUMA node. For each of the other containers, the function
// tries every NUMA node. Then it tries every way to assign the GPUs.
func fitsWithGPUs(pod *sched.Pod, node *sched.Node, given []numaplan.Counts) bool {
	c := len(given)
	if c == len(pod.Exclusive) {
		return overfull(pod, node, given) == "" && assignable(pod, node, given, nil)
	}
	for n := range node.NUMA {
		way := make(numaplan.Counts, len(node.NUMA))
		way[n] = pod.Exclusive[c].CPUs
		if fitsWithGPUs(pod, node, append(given[:c:c], way)) {
			return true
		}
	}
	return false
}

// assignable reports whether the pod's GPUs can be assigned so that each container with
// exclusive CPUs has its GPUs on the NUMA node of these CPUs. The argument `taken` has the GPUs
// that are already assigned to the pod. For the pod's other GPUs, assignable tries the node's
// remaining GPUs in every order.
func assignable(pod *sched.Pod, node *sched.Node, given []numaplan.Counts, taken []sched.GPUShare) bool {
	if len(taken) == pod.GPUs.Count {
		at := sched.Placement{Node: node.Name, GPUs: taken}
		for c, n := range given {
			on := podspec.Container{Name: pod.Exclusive[c].Name, PerNode: map[topology.NodeID]int{}}
			for i, k := range n {
				if k > 0 {
					on.PerNode[node.NUMA[i].ID] = k
				}
			}
			at.Containers = append(at.Containers, on)
		}
		return apart(pod, node, at) == ""
	}
	for _, gpu := range node.GPUs {
		share := sched.GPUShare{ID: gpu.ID, Milli: sched.WholeGPU}
		if !slices.Contains(taken, share) && assignable(pod, node, given, append(taken[:len(taken):len(taken)], share)) {
			return true
		}
	}
	return false
}

// The function `apart` returns a text that says what is wrong with the GPUs of a placement: a
// container has a wrong number of GPUs, or a GPU that is not on the NUMA node of its CPUs. It
// returns "" if nothing is wrong.
func apart(pod *sched.Pod, node *sched.Node, at sched.Placement) string {
	on := map[string]topology.NodeID{}
	for _, gpu := range node.GPUs {
		on[gpu.ID] = gpu.NUMA
	}
	split := pod.GPUs.Split(at.GPUs)
	for _, w := range pod.GPUs.PerContainer {
		if len(split[w.Container]) != w.Count {
			return fmt.Sprintf("container %s has %d GPUs, not %d", w.Container, len(split[w.Container]), w.Count)
		}
	}
	for _, container := range at.Containers {
		for _, id := range split[container.Name] {
			if container.PerNode[on[id]] == 0 {
				return fmt.Sprintf("container %s has GPU %s on NUMA node %d", container.Name, id, on[id])
			}
		}
	}
	return ""
}
