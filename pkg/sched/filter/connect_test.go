package filter

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// anyLinks returns random links between the given number of GPUs.
func anyLinks(r *rand.Rand, gpus int) gpu.Links {
	links := make(gpu.Links, gpus)
	for a := range links {
		links[a] = make([]gpu.Link, gpus)
		for b := range a {
			link := gpu.Link{NVLinks: max(0, r.IntN(6)-3), Level: gpu.Level(r.IntN(4))}
			links[a][b], links[b][a] = link, link
		}
	}
	return links
}

// FuzzConnected checks which set of GPUs Place chooses for a container with a request for
// several GPUs. It compares this set with all other sets that Place could choose. With the
// CPU policy "single", only sets on the NUMA node of the container's CPUs count, if there are
// any. No other set may be better connected. Of the sets that are equally well connected,
// none may be on fewer NUMA nodes. Of the sets that are also on equally many NUMA nodes, none
// may have more GPUs on the NUMA nodes of the container's CPUs.
func FuzzConnected(f *testing.F) {
	for gpus := range uint64(1000) {
		f.Add(gpus, uint8(gpus))
	}
	f.Fuzz(func(t *testing.T, seed uint64, gpus uint8) {
		r := rand.New(rand.NewPCG(seed, 4))
		on := make([]topology.NodeID, 2+gpus%6)
		for i := range on {
			on[i] = topology.NodeID(r.IntN(4) - 1)
		}
		node := machine([]int{4, 4, 4}, on...)
		node.Links = anyLinks(r, len(on))
		for i := range node.GPUs {
			node.GPUs[i].Free -= sched.MilliGPU(r.IntN(5)) / 4
		}
		policy := []podspec.Policy{podspec.Single, podspec.Spread, podspec.Random}[r.IntN(3)]
		pod := joint(policy, fmt.Sprintf("app %d %d", r.IntN(5), 1+r.IntN(4)))
		at, why := Place(pod, node)
		if why.Refuses() {
			return
		}
		given := linking{pod, node, at}.score(at.GPUs)
		for _, set := range subsets(node.GPUs, pod.GPUs.Count) {
			if better := (linking{pod, node, at}).score(set); better.compare(given) < 0 && pod.GPUs.Count > 1 {
				t.Fatalf("%v of policy %v with CPUs %v on %v, linked %v: %v is better than %v", pod.GPUs.PerContainer, policy, at.Containers, node.GPUs, node.Links, set, at.GPUs)
			}
		}
	})
}

// subsets returns all sets of n entirely free GPUs.
func subsets(gpus []sched.GPU, n int) (sets [][]sched.GPUShare) {
	if n == 0 {
		return [][]sched.GPUShare{nil}
	}
	for i, device := range gpus {
		if device.Free < sched.WholeGPU {
			continue
		}
		for _, rest := range subsets(gpus[i+1:], n-1) {
			sets = append(sets, append([]sched.GPUShare{{ID: device.ID, Milli: sched.WholeGPU}}, rest...))
		}
	}
	return sets
}

// linking is a pod of one container, a node, and the pod's placement on the node.
type linking struct {
	pod  *sched.Pod
	node *sched.Node
	at   sched.Placement
}

// worth is the value by which FuzzConnected compares sets of GPUs. A smaller value is better.
type worth struct {
	remote bool // a GPU is not on the NUMA node of the CPUs, although the CPU policy "single" requires it
	links  []gpu.Link
	nodes  int
	far    int
}

func (w worth) compare(other worth) int {
	if w.remote != other.remote {
		if w.remote {
			return 1
		}
		return -1
	}
	return cmp.Or(-slices.CompareFunc(w.links, other.links, gpu.Link.Compare), cmp.Compare(w.nodes, other.nodes), cmp.Compare(w.far, other.far))
}

// score returns the value of a set of GPUs for the container. The field `links` of the result
// is sorted, the weakest link first.
func (l linking) score(set []sched.GPUShare) (w worth) {
	var gpus []int
	known := map[topology.NodeID]bool{}
	for _, share := range set {
		device := slices.IndexFunc(l.node.GPUs, func(g sched.GPU) bool { return g.ID == share.ID })
		on := l.node.GPUs[device].NUMA
		if on == topology.Unknown || !known[on] {
			w.nodes++
		}
		known[on] = true
		for _, container := range l.at.Containers {
			if container.PerNode[on] == 0 {
				w.far++
				w.remote = l.pod.CPUPolicy == podspec.Single
			}
		}
		for _, other := range gpus {
			w.links = append(w.links, l.node.Links[device][other])
		}
		gpus = append(gpus, device)
	}
	slices.SortFunc(w.links, gpu.Link.Compare)
	return w
}
