package wakeindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/topology"
)

// twin has an index and the pods in it. It checks the index's answers by visiting all pods.
type twin struct {
	*testing.T
	index *Index
	pods  map[string]*sched.Pod // by UID
}

func newTwin(t *testing.T) *twin {
	space, err := filter.ParseSpace("cpu,memory,numa-total,numa-single,gpus,gpu-share")
	if err != nil {
		t.Fatal(err)
	}
	return &twin{t, New(space), map[string]*sched.Pod{}}
}

// step adds or removes a random pod. Then it checks which pods the index returns for a random node.
func (w *twin) step(r *rand.Rand) {
	uid := fmt.Sprint(r.IntN(40))
	if _, has := w.pods[uid]; has {
		w.index.Remove(uid)
		delete(w.pods, uid)
	} else {
		w.pods[uid] = w.pod(r, uid)
		w.index.Add(w.pods[uid])
	}
	node := schedtest.Node(r, fmt.Sprint("n", r.IntN(3)))
	if r.IntN(3) == 0 {
		node = node.Reserve(&sched.Reservation{UID: fmt.Sprint(r.IntN(40)), Holding: sched.Holding{Amounts: node.Free}})
	}
	w.compare(node)
}

// pod returns a pod with one of only a few shapes (see ShapeOf), so that many pods have the same
// shape.
func (w *twin) pod(r *rand.Rand, uid string) *sched.Pod {
	one := func(uid string) *sched.Pod {
		pod := schedtest.Pod(rand.New(rand.NewPCG(r.Uint64N(6), 1)), uid)
		pod.Seed = r.Uint64() // each pod has its own
		switch r.IntN(4) {
		case 0:
			pod.NodeRules = []string{"n0", "n1 n2", "none"}[r.IntN(3)]
			pod.Admits = func(n *sched.Node) bool { return strings.Contains(pod.NodeRules, n.Name) }
		case 1:
			pod.Avoid = func(node string) bool { return node == "n1" }
		case 2:
			pod.Candidates = []string{"n2"}[:r.IntN(2)]
		}
		return pod
	}
	pod := one(uid)
	if r.IntN(5) == 0 {
		pod.Gang = &sched.Gang{ID: uid, Need: 2, Members: []*sched.Pod{one(uid + "a"), one(uid + "b")}}
	}
	return pod
}

func (w *twin) compare(node *sched.Node) {
	w.Helper()
	var want, got []string
	for uid, pod := range w.pods {
		if fitsExactly(pod, node) {
			want = append(want, uid)
		}
	}
	for _, pod := range w.index.Helped(node) {
		got = append(got, pod.UID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("helped by %+v (-want +got):\n%s", node, diff)
	}
	if w.index.Len() != len(w.pods) {
		w.Fatalf("%d pods, want %d", w.index.Len(), len(w.pods))
	}
}

// fitsExactly reports what the function `fits` reports, but tries all ways to place the pod's
// containers.
func fitsExactly(pod *sched.Pod, node *sched.Node) bool {
	pods, _ := pod.Together()
	return slices.ContainsFunc(pods, func(p *sched.Pod) bool {
		return !filter.Check(p, node).Refuses() && (p.Admits == nil || p.Admits(node))
	})
}

// TestHardToPack checks that a pod counts as fitting if it takes many attempts to find out whether
// its containers fit a node.
func TestHardToPack(t *testing.T) {
	w := newTwin(t)
	pod := &sched.Pod{UID: "hard", CPUPolicy: podspec.Single}
	node := &sched.Node{Name: "n", Spare: 1}
	for i := range 24 {
		pod.Exclusive = append(pod.Exclusive, podspec.Container{Name: fmt.Sprint("c", i), Kind: podspec.App, CPUs: 7 + i%2*4})
	}
	for id := range topology.NodeID(8) {
		node.NUMA = append(node.NUMA, sched.NUMANode{ID: id, CPUs: 27, FreeCPUs: 27})
	}
	w.index.Add(pod)
	if got := len(w.index.Helped(node)); got != 1 || fitsExactly(pod, node) {
		t.Errorf("%d pods are helped, want 1; fits: %v, want false", got, fitsExactly(pod, node))
	}
}

// TestTwin checks that Helped returns each pod that fits the node, and no other pod.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		w := newTwin(t)
		for range 300 {
			w.step(r)
		}
	}
}

func FuzzTwin(f *testing.F) {
	f.Add(uint64(1), uint8(100))
	f.Add(uint64(7), uint8(255))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		w, r := newTwin(t), rand.New(rand.NewPCG(seed, 3))
		for range steps {
			w.step(r)
		}
	})
}

// TestShapeOfSeed checks in which cases two pods whose requests differ only in the seed have the
// same shape, that is, equal results of ShapeOf. The seed decides which CPUs a pod with the policy
// "random" gets. If a container of the pod names its NUMA nodes, the seed can also decide whether
// the pod fits a node (see seedMatters), so the two pods must have different shapes.
func TestShapeOfSeed(t *testing.T) {
	perNode := map[topology.NodeID]int{0: 1}
	for name, tc := range map[string]struct {
		policy podspec.Policy
		cpus   []podspec.Container
		want   bool
	}{
		"random":                           {podspec.Random, []podspec.Container{{Name: "a", CPUs: 2}}, true},
		"random, without exclusive CPUs":   {podspec.Random, nil, true},
		"random, a container names a node": {podspec.Random, []podspec.Container{{Name: "a", CPUs: 2}, {Name: "b", CPUs: 1, PerNode: perNode}}, false},
		"single, a container names a node": {podspec.Single, []podspec.Container{{Name: "b", CPUs: 1, PerNode: perNode}}, true},
	} {
		a, b := &sched.Pod{UID: "a", Seed: 1, CPUPolicy: tc.policy, Exclusive: tc.cpus}, &sched.Pod{UID: "b", Seed: 2, CPUPolicy: tc.policy, Exclusive: tc.cpus}
		if got := ShapeOf(a) == ShapeOf(b); got != tc.want {
			t.Errorf("%s: one shape: %v, want %v", name, got, tc.want)
		}
	}
}

// TestShapeOfTexts checks that two pods with different texts have different shapes, even if the
// joined texts of both pods are equal. For example, "a" and "bc" joined equal "ab" and "c" joined.
func TestShapeOfTexts(t *testing.T) {
	wait := func(*sched.Pod) sched.Reason { return sched.Reason{} }
	for name, pair := range map[string][2]sched.Pod{
		"profile and rules": {{Profile: "a", NodeRules: "bc"}, {Profile: "ab", NodeRules: "c"}},
		"rules and tenant":  {{NodeRules: "a", Tenant: "b of c", Wait: wait}, {NodeRules: "a of b", Tenant: "c", Wait: wait}},
		"candidates":        {{Candidates: []string{"a b"}}, {Candidates: []string{"a", "b"}}},
		"types of GPUs":     {{GPUs: sched.GPURequest{Types: []string{"a b"}}}, {GPUs: sched.GPURequest{Types: []string{"a", "b"}}}},
	} {
		if key := ShapeOf(&pair[0]); key == ShapeOf(&pair[1]) {
			t.Errorf("%s: both pods have the shape %q", name, key)
		}
	}
}

// TestSmallness checks the function `smallness`, whose result grows as a requested amount shrinks:
// of two amounts, the smaller one never has the smaller result.
func TestSmallness(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 100_000 {
		a := r.Int64() >> (1 + r.IntN(62))
		b := a + r.Int64N(1+a/100)
		if smallness(a) < smallness(b) {
			t.Fatalf("smallness(%d) = %d < smallness(%d) = %d", a, smallness(a), b, smallness(b))
		}
	}
	for _, zero := range []int64{0, -1} {
		if smallness(zero) < smallness(1) {
			t.Errorf("smallness(%d) < smallness(1)", zero)
		}
	}
}

// TestReleased checks that Released calls Wait once for each combination of tenant and request, and
// returns only pods that need not wait.
func TestReleased(t *testing.T) {
	calls, g := 0, NewShapes()
	wait := func(p *sched.Pod) sched.Reason {
		if calls++; p.Tenant == "ann" || p.GPUs.Count > 1 {
			return sched.Reason{Code: sched.Anywhere, Detail: "quota"}
		}
		return sched.Reason{}
	}
	for i := range 60 {
		g.Add(&sched.Pod{UID: fmt.Sprint(i), Tenant: []string{"ann", "bob"}[i%2], GPUs: sched.GPURequest{Count: 1 + i%3}, Wait: wait})
	}
	for _, pod := range g.Released() {
		if pod.Tenant != "bob" || pod.GPUs.Count != 1 {
			t.Errorf("pod %s of %s with %d GPUs is released", pod.UID, pod.Tenant, pod.GPUs.Count)
		}
	}
	if n := len(g.Released()); n != 10 || calls != 2*6 {
		t.Errorf("%d pods after %d calls, want 10 after 12", n, calls)
	}
}
