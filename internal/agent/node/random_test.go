package node

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// TestRandomLives starts and ends pods of all kinds in random order. Meanwhile, the test kills the
// agent, delays the pod informer and systemd, and makes writes of cgroups fail. After every step, it
// checks that no process of another pod runs on the CPUs of an exclusive container. Unless the
// container was resized, its exclusive CPUs must agree with the placement that the controller gave
// to it, and must not change while it runs. When all pods have ended, all CPUs must be free. Every
// second seed has a node with numalet-controller.
func TestRandomLives(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := &lives{script: newScript(t, &scenario.Answer{}), rand: rand.New(rand.NewPCG(seed, 1)), was: map[string]cpuset.Set{}, resized: map[string]bool{}}
			l.do("agent", "start", fmt.Sprintf("controller=%v", seed%2 == 1))
			for range 300 {
				l.step()
				l.check(t)
			}
			l.endAll()
			l.check(t)
			if v := l.node.View(); len(v.Held) > 0 || !v.Shared.Equal(l.machine.Online()) {
				t.Errorf("left behind: %v, shared %s", v.Held, v.Shared)
			}
		})
	}
}

// lives runs random commands of the test script, and checks the node after each command.
type lives struct {
	*script
	rand    *rand.Rand
	count   int
	history []string
	was     map[string]cpuset.Set // the CPUs that "pod/container" held at the last check
	resized map[string]bool       // whether "pod/container" was ever resized
}

func (l *lives) do(words ...string) {
	l.history = append(l.history, strings.Join(words, " "))
	l.play(strings.Join(words, " "))
}

// step runs one random command. If the agent runs, it then releases the CPUs of ended pods. At the
// end, it sets some rejected pods to Failed.
func (l *lives) step() {
	uids := slices.Sorted(maps.Keys(l.pods))
	if len(uids) < 3 || len(uids) < 12 && l.rand.IntN(4) == 0 {
		l.newPod()
		return
	}
	uid := uids[l.rand.IntN(len(uids))]
	if l.node == nil && l.rand.IntN(3) == 0 {
		l.do("agent", "start")
	}
	switch l.rand.IntN(26) {
	case 0:
		l.do("agent", "kill")
	case 1, 2:
		l.end(uid)
	case 3:
		l.remake(uid)
	case 4, 5:
		l.crash(uid)
	case 6:
		l.unwritable()
	case 7:
		l.unsynced = !l.unsynced
	case 8:
		clear(l.late)
	case 9, 10, 11:
		l.resizeSome(uid)
	case 12:
		l.do("wait", "5s")
	case 13, 14:
		l.systemd.limit = l.rand.IntN(3) * 2
	default:
		l.advance(uid)
	}
	if l.node != nil {
		l.node.Sweep(context.Background())
	}
	l.systemd.apply() // systemd soon applies the changes that it did not apply before the deadline of a hook
	l.endRejected()
}

// endRejected sets rejected pods to Failed, as a worker of the real agent does. At each call it
// leaves out some pods at random, so that these become Failed later.
func (l *lives) endRejected() {
	for _, uid := range slices.Sorted(maps.Keys(l.rejected)) {
		if p := l.pods[uid]; p != nil && p.Status.Phase != corev1.PodFailed && l.rand.IntN(3) > 0 {
			l.do("phase", uid, "Failed")
		}
	}
}

func (l *lives) newPod() {
	l.count++
	name := fmt.Sprintf("p%03d", l.count)
	kinds := [][]string{
		{"main:500m"}, {"main:500m", "side:1500m"}, {"burstable", "main:500m"}, {"burstable", "main:500m", "side:1500m"},
		{"policy=random", "main:2"}, {"policy=single", "main:3", "side:500m"},
		{"policy=spread", "init.first:4", "main:4"}, {"policy=single", "one:2", "two:1"},
		{"policy=single", "main:1500m"}, {"policy=random", "static", "main:2"},
	}
	if l.cfg.Controller {
		kinds = append(kinds, placedKinds()...)
	}
	l.do(append([]string{"pod", name}, kinds[l.rand.IntN(len(kinds))]...)...)
	l.late[name] = l.rand.IntN(4) == 0
}

// placedKinds returns arguments of the script command `pod`. They describe pods that
// numalet-controller placed, and one pod with limits by NUMA node.
func placedKinds() [][]string {
	return [][]string{
		{"policy=random", "place=main@1=1,3=1", "main:2"},
		{"policy=single", "place=main@2=3", "main:3", "side:500m"},
		{"policy=spread", "place=first@0=1,1=1,2=1,3=1;main@0=1,1=1,2=1,3=1", "init.first:4", "main:4"},
		{"policy=single", "place=one@3=2;two@1=1", "one:2", "two:1"},
		{"policy=random", "place=main@0=9", "main:9"},
		{"main:2@3=2"},
	}
}

// advance brings a pod one step further. It creates the pod's sandbox, creates or starts the pod's
// next container, or ends the pod's init container.
func (l *lives) advance(uid string) {
	pod := l.pods[uid]
	if v1alpha1.Ended(pod) {
		return
	}
	if l.current(uid).ID == "" {
		l.newPause(uid)
		return
	}
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		name := uid + "/" + c.Name
		switch id := l.instance(name); {
		case id == "" && l.node == nil && l.isBurstable(uid):
			l.do("create", name, "unpinned")
			return
		case id == "":
			l.do("create", name)
			return
		case l.containers[id].state == "created":
			l.do("start", name)
			return
		case c.Name == "first" && l.containers[id].state == "running":
			l.do("exit", name)
			return
		}
	}
}

// newPause creates a sandbox. While the agent is down, it creates only sandboxes of burstable pods,
// and only if the cgroup of their QoS class exists. This cgroup keeps the sandboxes off exclusive
// CPUs. A real container runtime can create a sandbox of any pod while the agent is down. The pause
// process of another pod may use all CPUs until the agent runs again. This is a known limitation,
// which the test leaves out. The cgroup of a real QoS class always exists: the kubelet creates it
// at its start.
func (l *lives) newPause(uid string) {
	if l.node != nil || l.isBurstable(uid) && l.groups[burstable] != nil {
		l.do("sandbox", uid)
	}
}

func (l *lives) isBurstable(uid string) bool {
	return l.pods[uid].Status.QOSClass == corev1.PodQOSBurstable
}

// crash ends and removes a running container. A later call of the method `advance` may create the
// container again.
func (l *lives) crash(uid string) {
	for _, id := range slices.Sorted(maps.Keys(l.containers)) {
		if c := l.containers[id]; c.Sandbox.Pod.UID == uid && c.state == "running" {
			l.world.exit(id)
			l.world.remove(id)
			return
		}
	}
}

// remake creates a new sandbox for a pod, and then removes the old sandbox.
func (l *lives) remake(uid string) {
	old := l.current(uid).ID
	if old == "" || v1alpha1.Ended(l.pods[uid]) {
		return
	}
	l.stopSandbox(old)
	l.newPause(uid)
	l.removeSandbox(old)
}

// unwritable makes writes to the cgroups of some random containers fail. Sometimes it also makes
// writes to the cgroup of the QoS class Burstable fail. For all other cgroups, writes work, even if
// an earlier call made them fail.
func (l *lives) unwritable() {
	clear(l.broken)
	l.broken[burstable] = l.rand.IntN(10) == 0
	for _, c := range l.containers {
		if l.rand.IntN(10) == 0 {
			l.broken[c.Cgroup] = true
		}
	}
}

// end ends a pod. The agent gets the event of the container runtime and that of the API server in a
// random order. At random, the event of the runtime is lost.
func (l *lives) end(uid string) {
	l.late[uid] = false
	lost := []string{uid, "lost"}
	if l.rand.IntN(2) == 0 {
		lost = lost[:1]
	}
	steps := []func(){
		func() { l.do(append([]string{"stop"}, lost...)...) },
		func() { l.do("phase", uid, "Failed") },
	}
	l.rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, s := range steps {
		s()
	}
	l.do(append([]string{"remove"}, lost[:1]...)...)
	delete(l.pods, uid)
}

func (l *lives) endAll() {
	clear(l.broken)
	clear(l.late)
	l.unsynced = false
	l.systemd.limit = 0
	l.do("agent", "start")
	for _, uid := range slices.Sorted(maps.Keys(l.pods)) {
		l.end(uid)
	}
	l.node.Sweep(context.Background())
	l.do("wait", "1h")
}

// check checks the conditions that TestRandomLives lists. They must hold after every step of the
// test.
func (l *lives) check(t *testing.T) {
	t.Helper()
	for _, o := range l.overlaps {
		t.Fatalf("overlap: %s, after\n%s", o, strings.Join(l.history, "\n"))
	}
	if l.node == nil {
		return
	}
	seen := map[string]cpuset.Set{}
	for _, h := range l.node.View().Held {
		name := h.Pod.Name + "/" + h.Container
		seen[name] = h.CPUs
		was, ok := l.was[name]
		if stays := was.Equal(h.CPUs) || l.resized[name] && (was.SubsetOf(h.CPUs) || h.CPUs.SubsetOf(was)); ok && !stays && l.ran(name) {
			t.Fatalf("%s moved from %s to %s, after\n%s", name, was, h.CPUs, strings.Join(l.history, "\n"))
		}
		if want := l.placedAt(h.Pod.UID, h.Container); want != nil && !l.resized[name] && !maps.Equal(want, l.perNode(h.CPUs)) {
			t.Fatalf("%s holds %s, which is %v by NUMA node, and was placed at %v", name, h.CPUs, l.perNode(h.CPUs), want)
		}
	}
	l.was = seen
}

// placedAt returns how many CPUs of each NUMA node numalet-controller gave to a container. It
// returns nil if the pod has no placement annotation.
func (l *lives) placedAt(uid, container string) map[topology.NodeID]int {
	pod := l.pods[uid]
	if pod == nil || pod.Annotations[v1alpha1.AnnotationPlacement] == "" {
		return nil
	}
	p, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement])
	if err != nil {
		return nil
	}
	return p.Containers[container].CPUs
}

// perNode returns how many of the given CPUs belong to each NUMA node.
func (l *lives) perNode(cpus cpuset.Set) map[topology.NodeID]int {
	counts := map[topology.NodeID]int{}
	for _, n := range l.machine.Nodes {
		if both := n.CPUs.Intersect(cpus).Len(); both > 0 {
			counts[n.ID] = both
		}
	}
	return counts
}

// ran reports whether the container is running now.
func (l *lives) ran(name string) bool {
	id := l.instance(name)
	return id != "" && l.containers[id].state == "running"
}
