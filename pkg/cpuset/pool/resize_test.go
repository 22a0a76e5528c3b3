package pool

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// resizer resizes containers at random. It numbers the resizes, and stores for each CPU of a
// container the number of the resize in which the container got the CPU.
type resizer struct {
	*rand.Rand
	now   int
	since map[string]map[cpuset.CPU]int // by "uid/container" and CPU: the number of the resize in which the container got the CPU
}

// resize resizes one container of a pod to a random size, and checks the result.
func (r *resizer) resize(t *testing.T, l *Ledger, tw *twin, uid string) {
	t.Helper()
	before, ok := l.Grant(uid)
	if !ok {
		return
	}
	r.now++
	i := r.IntN(len(before.Claims))
	was := before.Claims[i]
	n := 1 + r.IntN(2*was.CPUs.Len())
	r.learn(uid, before)
	kept := l.Keep(uid, was.Container, n)
	after, err := l.Shrink(uid, was.Container, kept)
	if n > was.CPUs.Len() {
		after, err = l.Grow(uid, was.Container, n)
		if err != nil {
			r.checkRefused(t, l, before, i, n-was.CPUs.Len(), err)
			return
		}
	}
	if err != nil {
		t.Fatalf("resize %+v to %d: %v", was, n, err)
	}
	is := after.Claims[i]
	if is.CPUs.Len() != n {
		t.Fatalf("resize %+v to %d: holds %s", was, n, is.CPUs)
	}
	checkPolicy(t, l, after.Policy, is)
	checkSteps(t, before, after, i)
	r.checkOldest(t, l, uid, after.Policy, was, is)
	tw.set(after)
}

// learn records the CPUs that the containers of a pod have, and drops those that they no longer
// have.
func (r *resizer) learn(uid string, g Grant) {
	for _, c := range g.Claims {
		key := uid + "/" + c.Container
		known := map[cpuset.CPU]int{}
		for cpu := range c.CPUs.All() {
			known[cpu] = r.now
			if at, ok := r.since[key][cpu]; ok {
				known[cpu] = at
			}
		}
		r.since[key] = known
	}
}

// forget forgets the containers of a pod that has ended, because the test uses its UID again.
func (r *resizer) forget(uid string) {
	maps.DeleteFunc(r.since, func(key string, _ map[cpuset.CPU]int) bool { return strings.HasPrefix(key, uid+"/") })
}

// checkSteps checks that a container that grows keeps its CPUs, that a container that shrinks
// gets no new CPU, and that containers that run at the same time share no CPU.
func checkSteps(t *testing.T, before, after Grant, i int) {
	t.Helper()
	was, is := before.Claims[i], after.Claims[i]
	if grown := is.CPUs.Len() > was.CPUs.Len(); grown && !was.CPUs.SubsetOf(is.CPUs) || !grown && !is.CPUs.SubsetOf(was.CPUs) {
		t.Fatalf("resized from %s to %s", was.CPUs, is.CPUs)
	}
	if lost := before.CPUs().Minus(after.CPUs()); !lost.Empty() {
		t.Fatalf("the pod lost CPUs %s at once", lost)
	}
	if is.Leaving.Overlaps(is.CPUs) {
		t.Fatalf("%+v holds what it gives back", is)
	}
	for j, c := range after.Claims {
		if j != i && beside(after.Claims, i, j) && c.held().Overlaps(is.held()) {
			t.Fatalf("%+v and %+v run together and overlap", c, is)
		}
	}
}

// checkOldest checks that a container that shrinks gives back the CPUs that it got last. With the
// policy "spread", this is checked for each NUMA node by itself.
func (r *resizer) checkOldest(t *testing.T, l *Ledger, uid string, policy podspec.Policy, was, is Claim) {
	t.Helper()
	since := r.since[uid+"/"+was.Container]
	places := []cpuset.Set{was.CPUs}
	if policy == podspec.Spread {
		places = nil
		for _, n := range l.layout.nodes {
			places = append(places, n.cpus.Intersect(was.CPUs))
		}
	}
	for _, place := range places {
		for kept := range place.Intersect(is.CPUs).All() {
			for gone := range place.Minus(is.CPUs).All() {
				if since[gone] < since[kept] {
					t.Fatalf("%+v became %+v: gave back %d of resize %d and kept %d of resize %d", was, is, gone, since[gone], kept, since[kept])
				}
			}
		}
	}
}

// checkRefused checks that a refused growth has changed nothing, and that the growth was
// impossible. For the second check, it tries every distribution of the CPUs over NUMA nodes. The
// second check is left out if no CPU is reserved: a growth is then also refused if it would take
// the last shared CPU, and the second check does not know this rule. It is also left out if the
// machine has several classes of CPUs.
func (r *resizer) checkRefused(t *testing.T, l *Ledger, before Grant, i, k int, err error) {
	t.Helper()
	if after, _ := l.Grant(before.UID); !cmp.Equal(before, after) {
		t.Fatalf("refused (%v), but %+v became %+v", err, before, after)
	}
	if l.options.Reserved.Empty() || len(l.layout.classes) > 1 {
		return
	}
	all := l.growth(before, i)
	room, held := l.layout.counts(all.own.Union(all.free)), l.layout.counts(all.current)
	if way, ok := anyWay(before.Policy, held, room, k); ok {
		t.Fatalf("refused (%v), but %v more are possible: held %v, room %v", err, way, held, room)
	}
}

// anyWay tries every way to take k more CPUs from NUMA nodes. It returns the first one with which
// all CPUs of the container satisfy the policy.
func anyWay(policy podspec.Policy, held, room []int, k int) ([]int, bool) {
	counts := make([]int, len(held))
	var try func(i, left int) bool
	try = func(i, left int) bool {
		if i == len(held) {
			return left == 0 && byPolicy(policy, held, counts)
		}
		for counts[i] = 0; counts[i] <= min(left, room[i]); counts[i]++ {
			if try(i+1, left-counts[i]) {
				return true
			}
		}
		counts[i] = 0
		return false
	}
	ok := try(0, k)
	return counts, ok
}

func byPolicy(policy podspec.Policy, held, more []int) bool {
	low, high, used := held[0]+more[0], 0, 0
	for i := range held {
		n := held[i] + more[i]
		low, high, used = min(low, n), max(high, n), used+min(1, n)
	}
	return policy == podspec.Random || policy == podspec.Single && used == 1 || policy == podspec.Spread && high-low <= 1
}

// TestClaimOfOlderRelease checks that a claim can be read from the checkpoint of an older release,
// which could not resize containers. It also checks that a claim that was never resized is still
// written in this older form.
func TestClaimOfOlderRelease(t *testing.T) {
	const text = `{"container":"main","kind":"app","cpus":"0-3","mems":[0],"memoryBytes":64}`
	var c Claim
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(again)); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
}

// TestResizedClaimSurvives checks that Grown and Leaving of a claim are the same after the claim
// was written to JSON and read again, as in a checkpoint.
func TestResizedClaimSurvives(t *testing.T) {
	l := mustNew(t, machinetest.Machine(1, 8).Build(), Options{})
	if _, err := l.Reserve(Pod{UID: "a", Containers: []podspec.Container{{Name: "main", CPUs: 2}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Grow("a", "main", 5); err != nil {
		t.Fatal(err)
	}
	want, err := l.Shrink("a", "main", l.Keep("a", "main", 3))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Grant
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
	if c := got.Claims[0]; c.Leaving.Len() != 2 || len(c.Grown) != 1 {
		t.Errorf("claim = %+v, want 2 CPUs given back and one growth", c)
	}
}

func TestBind(t *testing.T) {
	m := machinetest.Machine(1, 8).Memory(16 << 30).Build()
	l := mustNew(t, m, Options{})
	pod := Pod{UID: "a", Policy: podspec.Single, Containers: []podspec.Container{{Name: "main", CPUs: 2, MemoryBytes: 10 << 30}}}
	if _, err := l.Reserve(pod); err != nil {
		t.Fatal(err)
	}
	free := l.AvailableMemory()[0]
	if _, err := l.Bind("a", "main", 10<<30+free+1); err == nil {
		t.Errorf("bound %d bytes more than are free", free+1)
	}
	if _, err := l.Bind("a", "main", 10<<30+free); err != nil || l.AvailableMemory()[0] != 0 {
		t.Errorf("Bind() = %v, and %d bytes are free; want all bound", err, l.AvailableMemory()[0])
	}
	if _, err := l.Bind("a", "main", 1<<30); err != nil || l.AvailableMemory()[0] != free+9<<30 {
		t.Errorf("Bind() = %v, and %d bytes are free; want %d", err, l.AvailableMemory()[0], free+9<<30)
	}
}
