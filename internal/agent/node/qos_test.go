package node

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
)

// TestManyBurstablePods checks that the agent writes the same number of cpusets with 100 burstable
// pods as with one, both when CPUs become exclusive and when they become shared again.
func TestManyBurstablePods(t *testing.T) {
	got := map[int]map[Why]int{}
	for _, pods := range []int{1, 100} {
		s := newScript(t, &scenario.Answer{})
		s.play("agent start")
		for i := range pods {
			s.play(fmt.Sprintf("pod x%d burstable main:500m", i), fmt.Sprintf("run x%d", i))
		}
		clear(s.wrote)
		s.play("pod a policy=single main:2", "run a", "phase a Succeeded", "stop a", "sweep")
		if len(s.overlaps) > 0 {
			t.Error(s.overlaps)
		}
		got[pods] = s.wrote
	}
	if diff := cmp.Diff(got[1], got[100]); diff != "" {
		t.Errorf("written cpusets with 1 pod (-) and with 100 pods (+):\n%s", diff)
	}
	if got[1][Shrink] == 0 || got[1][Grow] == 0 {
		t.Errorf("written cpusets: %v, want some to shrink and some to grow", got[1])
	}
}

// TestWidensSharers checks a burstable pod whose container and pause process have cpusets that an
// agent of an earlier release has set. Both must get all shared CPUs, also those that become shared
// later.
func TestWidensSharers(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x burstable main:500m", "run x", "pod a policy=single main:2", "run a", "agent kill")
	before := s.earlierRelease()
	s.play("agent start")
	for _, path := range before {
		if got := s.groups[path].cpus; !got.Equal(s.machine.Online()) {
			t.Errorf("CPUs %s are set for %s, want all", got, path)
		}
	}
	s.play("phase a Succeeded", "stop a", "sweep")
	s.on(s.machine.Online(), before)
}

// TestWidensPods checks that a pod in the cgroup of a QoS class gets all CPUs if another program has set
// the cpuset of the pod's own cgroup. Koordinator's koordlet does that, and leaves the cpuset behind.
func TestWidensPods(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x burstable main:500m", "run x", "agent kill")
	pod := s.current("x").PodCgroup
	s.groups[pod] = &group{cpus: cpuset.Of(2, 3)}
	s.play("agent start")
	if got := s.groups[pod].cpus; !got.Equal(s.machine.Online()) {
		t.Errorf("CPUs %s are set for %s, want all", got, pod)
	}
}

// TestBrokenQoSCgroup starts a new release of the agent that cannot limit the cgroup of a QoS class. It
// checks that burstable pods stay on the CPUs that an agent of an earlier release has set for each of
// them.
func TestBrokenQoSCgroup(t *testing.T) {
	for name, restart := range map[string][]string{
		"not writable":           {"break /burstable", "agent start"},
		"not written to systemd": {"systemd down", "agent start"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, &scenario.Answer{})
			s.play("agent start", "pod x burstable main:500m", "run x", "pod a policy=single main:2", "run a", "agent kill")
			shared := s.machine.Online().Minus(cpuset.Of(1, 9))
			before := s.earlierRelease()
			s.play(restart...)
			for _, path := range before {
				if got := s.groups[path].cpus; !got.Equal(shared) {
					t.Errorf("CPUs %s are set for %s, want %s", got, path, shared)
				}
			}
			s.play("pod y burstable main:500m", "run y")
			s.rewrite(burstable)
			s.on(shared, before)
			s.play("repair /burstable", "systemd up", "retry")
			s.PersistLater()
			s.play("retry")
			s.on(shared, s.below(burstable))
			s.play("phase a Succeeded", "stop a", "sweep")
			s.on(s.machine.Online(), s.below(burstable))
			if len(s.overlaps) > 0 {
				t.Error(s.overlaps)
			}
		})
	}
}

// TestMissingQoSCgroup restarts the node. The container runtime still lists a burstable pod, but the
// kubelet uses another cgroup driver now, so the cgroup of the pod's QoS class is missing. The test
// checks that a container gets exclusive CPUs all the same: the missing cgroup has no processes.
func TestMissingQoSCgroup(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x burstable main:500m", "run x")
	listed := maps.Clone(s.sandboxes)
	s.play("reboot")
	s.sandboxes = listed
	s.play("agent start", "pod a policy=single main:2", "run a")
	if held := s.node.View().Held; len(held) != 1 {
		t.Errorf("held: %v, want the CPUs of a/main", held)
	}
}

// TestSystemdRewritesQoSCgroup starts burstable pods while systemd does not know the CPUs of their
// QoS class. Then systemd writes the cgroup of the class again, as it does when the kubelet changes
// the CPU weight of the class. The test checks that the pods are off exclusive CPUs all the same,
// and that they get all shared CPUs when systemd answers again.
func TestSystemdRewritesQoSCgroup(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod a policy=single main:2", "run a", "systemd down",
		"pod x burstable main:500m", "run x", "resize x/main 700m")
	s.rewrite(burstable)
	s.play("pod y burstable main:500m", "run y")
	s.rewrite(burstable)
	if len(s.overlaps) > 0 {
		t.Error(s.overlaps)
	}
	s.play("systemd up", "retry", "agent kill", "agent start")
	s.on(s.machine.Online().Minus(cpuset.Of(1, 9)), s.below(burstable))
	s.play("phase a Succeeded", "stop a", "sweep")
	s.on(s.machine.Online(), s.below(burstable))
}

// TestAgentEndsBeforeItTellsSystemd kills an agent that has set all CPUs for a burstable pod, before it
// has sent them to systemd. The next agent must send them. Otherwise the pod would have fewer CPUs
// after a daemon-reload.
func TestAgentEndsBeforeItTellsSystemd(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x burstable main:500m", "run x", "pod a policy=single main:2", "run a", "agent kill")
	before := s.earlierRelease()
	s.play("agent start", "agent kill")
	for _, path := range before {
		s.systemd.acknowledged[path] = "0,2-8,10-15"
	}
	s.play("agent start")
	for _, path := range before {
		s.rewrite(path)
	}
	s.play("phase a Succeeded", "stop a", "sweep")
	s.on(s.machine.Online(), before)
}

// TestOldSpec starts and resizes a burstable container whose spec has CPUs from an agent of an earlier
// release. Each time, the container runtime writes these CPUs to the container's cgroup. The test
// checks that the container gets all shared CPUs.
func TestOldSpec(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x burstable main:500m", "sandbox x", "create x/main")
	c := s.containers[s.instance("x/main")]
	c.decision.CPUs, c.Resources.CPUs = cpuset.Of(0), cpuset.Of(0)
	s.play("start x/main")
	s.on(s.machine.Online(), []string{c.Cgroup})
	s.play("resize x/main 700m")
	s.on(s.machine.Online(), []string{c.Cgroup})
}

// TestGrantOfBurstablePod checks that a burstable static pod loses the exclusive CPUs that an agent of
// an earlier release gave to it.
func TestGrantOfBurstablePod(t *testing.T) {
	for name, lost := range map[string]bool{"with the checkpoint": false, "without the checkpoint": true} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, &scenario.Answer{})
			s.play("agent start", "pod x static policy=single main:2", "late x", "run x", "agent kill")
			s.moveTo(burstable, "x")
			if lost {
				s.play("damage")
			}
			s.events = nil
			s.play("agent start")
			if held := s.node.View().Held; len(held) > 0 {
				t.Errorf("held: %v, want nothing", held)
			}
			s.on(s.machine.Online(), []string{s.containers[s.instance("x/main")].Cgroup})
			if len(s.refused) == 0 || s.refused[len(s.refused)-1] != v1alpha1.NotGuaranteed {
				t.Errorf("refused: %v, want %s", s.refused, v1alpha1.NotGuaranteed)
			}
		})
	}
}

// earlierRelease sets the CPUs of the cgroups of burstable pods as an agent of an earlier release
// has set them: the shared CPUs for each container and pause process, and none for their QoS class.
// It returns the cgroups of the containers and pause processes.
func (s *script) earlierRelease() (own []string) {
	limit := s.groups[burstable].cpus
	for _, path := range s.below(burstable) {
		s.groups[path].cpus = limit
		s.systemd.acknowledged[path] = limit.String()
	}
	s.groups[burstable].cpus = cpuset.Set{}
	delete(s.systemd.acknowledged, burstable)
	return s.below(burstable)
}

// below returns the cgroups of containers and pause processes in the cgroup of a QoS class.
func (s *script) below(class string) (paths []string) {
	for path := range s.groups {
		if strings.HasPrefix(path, class+"/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// rewrite gives a cgroup the CPUs that systemd knows, as systemd does at a daemon-reload.
func (s *script) rewrite(path string) {
	s.groups[path].cpus = cpuset.MustParse(s.systemd.acknowledged[path])
	s.look()
}

// The method `on` checks that each of the given cgroups can use exactly these CPUs.
func (s *script) on(want cpuset.Set, cgroups []string) {
	s.t.Helper()
	for _, path := range cgroups {
		if got := s.effective(path, s.groups[path].cpus); !got.Equal(want) {
			s.t.Errorf("%s can use CPUs %s, want %s", path, got, want)
		}
	}
}

// moveTo moves the cgroups of a pod to the cgroup of a QoS class. It also changes their paths in
// the checkpoint and in the container runtime. The pod then looks as if an agent of an earlier
// release had given it exclusive CPUs in that cgroup.
func (s *script) moveTo(class, uid string) {
	s.groups[class] = &group{}
	move := func(cgroup *string) {
		to := class + *cgroup
		if g := s.groups[*cgroup]; g != nil {
			s.groups[to] = g
			delete(s.groups, *cgroup)
		}
		*cgroup = to
	}
	s.disk = []byte(strings.ReplaceAll(string(s.disk), `"/pod`+uid, `"`+class+"/pod"+uid))
	sandbox := s.current(uid)
	move(&sandbox.Cgroup)
	sandbox.PodCgroup = class + sandbox.PodCgroup
	s.sandboxes[sandbox.ID] = sandbox
	c := s.containers[s.instance(uid+"/main")]
	move(&c.Cgroup)
	c.Sandbox = sandbox
}
