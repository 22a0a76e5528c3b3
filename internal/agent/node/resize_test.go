package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/workload"
)

// resize runs the script command `resize POD/CONTAINER CPUS[/MEMORY]
// [fails|unconfirmed|unanswered]`.
//
// The command changes the resources of a container as a user does. It then writes the CFS quota of the
// pod, and passes the new size to the container runtime, as the kubelet does. With `fails`, the runtime
// cannot apply the agent's answer. With `rollsback`, it cannot apply the answer either, and writes the
// CPUs of the last answer that it could apply to the cgroup again, as runc does.
// With `unconfirmed`, the agent is killed after the runtime has applied the answer. With
// `unanswered`, the agent is killed before the runtime has the answer. If the agent is down, the
// runtime applies the resize without the agent, as containerd does.
func (s *script) resize(args []string) error {
	c := s.containers[s.instance(args[0])]
	cpus, memory, _ := strings.Cut(args[1], "/")
	s.edit(args[0], cpus, memory)
	milli := milliOf(cpus)
	want := workload.Resources{Shares: sharesOf(milli), QuotaMicros: milli * 100, PeriodMicros: 100_000}
	if memory != "" {
		q := resource.MustParse(memory)
		want.MemoryBytes = q.Value()
	}
	if c == nil || c.state == "exited" {
		return nil // the container gets its new size when it is created
	}
	s.quotas[c.Sandbox.PodCgroup] = true
	if s.node == nil {
		s.setSpec(c, want)
		return nil
	}
	a, err := s.node.Update(context.Background(), c.Container, want)
	if err != nil {
		return err
	}
	s.out.Line("%s is answered: %s", args[0], a.Decision)
	how := ""
	if len(args) > 2 {
		how = args[2]
	}
	switch how {
	case "fails":
		return nil
	case "rollsback":
		s.groups[c.Cgroup].cpus = c.decision.CPUs
		s.look()
		return nil
	case "unanswered":
		s.node = nil
		s.setSpec(c, want)
		return nil
	}
	s.correct(a.Specs)
	s.setSpec(c, want)
	s.write(c, a.Decision)
	if how == "unconfirmed" {
		s.node = nil
		return nil
	}
	return s.node.Updated(context.Background(), c.Container)
}

// edit changes the resources of a container in the API server, as a user does. The API server then
// raises the pod's generation.
func (s *script) edit(container, cpus, memory string) {
	uid, name, _ := strings.Cut(container, "/")
	pod := s.pods[uid].DeepCopy()
	pod.Generation = 2
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name != name {
				continue
			}
			for _, r := range []corev1.ResourceList{list[i].Resources.Limits, list[i].Resources.Requests} {
				r[corev1.ResourceCPU] = resource.MustParse(cpus)
				if memory != "" {
					r[corev1.ResourceMemory] = resource.MustParse(memory)
				}
			}
		}
	}
	s.pods[uid] = pod
}

// setSpec writes the resources that the kubelet requests into the container's spec and cgroup, as a
// container runtime does.
func (w *world) setSpec(c *runtimeContainer, want workload.Resources) {
	c.Resources.Shares, c.Resources.QuotaMicros, c.Resources.PeriodMicros = want.Shares, want.QuotaMicros, want.PeriodMicros
	if want.MemoryBytes > 0 {
		c.Resources.MemoryBytes = want.MemoryBytes
	}
	if w.groups[c.Cgroup] != nil {
		w.quotas[c.Cgroup] = true
	}
}

// write writes the agent's answer into a container's spec and cgroup, as a container runtime does. If
// the answer has no CPUs, the runtime writes the CPUs of the spec to the cgroup again.
func (w *world) write(c *runtimeContainer, d workload.Decision) {
	if d.CPUs.Empty() {
		d.CPUs = c.Resources.CPUs
	}
	c.decision, c.Resources.CPUs = d, d.CPUs
	if d.Exclusive {
		c.Resources.QuotaMicros = -1
	}
	if g := w.groups[c.Cgroup]; g != nil {
		g.cpus = d.CPUs
		w.quotas[c.Cgroup] = !d.Exclusive
	}
	w.look()
}

// writeQuota runs the script command `quota POD`, which writes the CFS quota of the pod's cgroup, as the
// kubelet does at a resize of any container of the pod.
func (s *script) writeQuota(args []string) error {
	s.quotas[podCgroup(s.pods[args[0]])] = true
	return nil
}

// wait runs the script command `wait DURATION`, which advances the clock by this time. The agent
// then releases the CPUs of ended pods, and the CPUs that containers gave back in a resize
// (Node.Sweep).
func (s *script) wait(args []string) error {
	d, err := time.ParseDuration(args[0])
	s.now += d
	if s.node != nil {
		s.node.Sweep(context.Background())
	}
	return err
}

// resizeSome resizes one of the pod's running containers with exclusive CPUs. It does not resize a
// container with limits by NUMA node. At random, the container runtime fails to apply the resize,
// or the agent is killed during the resize.
func (l *lives) resizeSome(uid string) {
	for _, id := range slices.Sorted(maps.Keys(l.containers)) {
		c := l.containers[id]
		if c.Sandbox.Pod.UID != uid || c.state != "running" || !c.decision.Exclusive || strings.Contains(fmt.Sprint(l.pods[uid].Spec.Containers), "numa3-cpu") {
			continue
		}
		name := uid + "/" + c.Name
		l.resized[name] = true
		how := []string{"", "", "", "fails", "unconfirmed", "unanswered"}[l.rand.IntN(6)]
		l.do("resize", name, fmt.Sprint(1+l.rand.IntN(6)), how)
		return
	}
}

// TestResizeOfManyCPUs resizes a container with 318 CPUs. The kubelet writes the same CPU shares for all
// sizes from 256 CPUs on.
func TestResizeOfManyCPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		commands  []string
		held, has int // the number of CPUs that the container holds, and on which it is
	}{
		"it shrinks": {[]string{"resize a/main 260", "wait 10s"}, 260, 260},
		"it keeps its size, and a CPU is offline": {[]string{"agent kill", "offline 5", "agent start", "resize a/main 318/32Mi"}, 318, 317},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, &scenario.Answer{})
			s.machine = machinetest.Machine(2, 160).Memory(8 << 30).Build()
			s.play(append([]string{"agent start", "pod a policy=spread main:318", "run a"}, tc.commands...)...)
			held := s.node.View().Held
			if len(held) != 1 || held[0].CPUs.Len() != tc.held {
				t.Errorf("held: %v, want %d CPUs", held, tc.held)
			}
			if has := s.groups[s.target("a/main")].cpus; has.Len() != tc.has {
				t.Errorf("the container is on %d CPUs, want %d", has.Len(), tc.has)
			}
		})
	}
}
