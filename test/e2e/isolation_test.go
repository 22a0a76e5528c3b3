//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestIsolation creates pods with the annotation numalet.dev/isolation. On a kernel with cpuset
// partitions, the cgroups of their containers must be partitions. No process outside of these
// containers may run on their CPUs, not even a process outside of Kubernetes. All of this must stay
// true while the agent, systemd and the container restart, and while the container is resized. On
// an older kernel, an event must say that only interrupts and workqueues are kept off the CPUs.
func TestIsolation(t *testing.T) {
	ctx := start(t, 20*time.Minute, "resize", "balanced", "shared")
	installWith(ctx, t, "pools[0].settings.isolation=true")
	if !hasPartitions(ctx, t) {
		create(ctx, t, isolated("resize", v1alpha1.IsolationFull, "3"))
		must(t, cluster.AwaitEvent(ctx, "resize", "NumaletPartlyIsolated", "has no cpuset.cpus.exclusive"))
		checkInterrupts(ctx, t, born(ctx, t, "resize", "c"))
		return
	}
	outside := runOutside(ctx, t, "outside", "/usr/local/bin/probe sleep")
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, isolated("resize", v1alpha1.IsolationFull, "3"))
	create(ctx, t, isolated("balanced", v1alpha1.IsolationLoadBalanced, "2"))
	first, second := born(ctx, t, "resize", "c"), born(ctx, t, "balanced", "c")
	check := func(cpus cpuset.Set) {
		t.Helper()
		checkPartition(ctx, t, "resize", "isolated", cpus)
		checkPartition(ctx, t, "balanced", "root", second)
		checkOutside(ctx, t, outside, cpus.Union(second))
	}
	check(first)
	checkInterrupts(ctx, t, first.Union(second))

	changes := watchPartition(ctx, t, "resize")
	restartAgent(ctx, t)
	checkReload(ctx, t)
	if diff := cmp.Diff([]string{"isolated " + first.String()}, changes()); diff != "" {
		t.Errorf("partition during a restart of the agent and a daemon-reload (-want +got):\n%s", diff)
	}
	check(first)

	ofProbe(ctx, t, "resize", "kill -9 $p")
	_, err := cluster.Await(ctx, "resize", func(pod *corev1.Pod) bool {
		return e2eutil.Running(pod) && pod.Status.ContainerStatuses[0].RestartCount == 1
	})
	must(t, err)
	check(first)
	checkLives(ctx, t) // called before the resize, because checkLives accepts no container whose CPUs change

	grown := resized(ctx, t, "4")
	check(grown)
	if got := resized(ctx, t, "3"); !got.Equal(first) {
		t.Errorf("shrank to %v, want %v", got, first)
	}
	check(first)

	must(t, cluster.Delete(ctx, "resize", "balanced"))
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15))
	if left := leftOfPartitions(ctx, t); left != "0-15" {
		t.Errorf("cpuset.cpus.effective of the root cgroup, and cpuset.cpus.exclusive of others, after all pods ended: %q, want only 0-15", left)
	}
}

// TestIsolationOffline sets a CPU of an isolated container offline. The container has three of the
// four CPUs of its NUMA node. It must get the fourth CPU instead of the offline one, and stay
// isolated.
func TestIsolationOffline(t *testing.T) {
	ctx := start(t, 12*time.Minute, "held", "shared")
	installWith(ctx, t, "pools[0].settings.isolation=true")
	if !hasPartitions(ctx, t) {
		t.Skip("the kernel has no cpuset partitions: run with -flavour backports")
	}
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, isolated("held", v1alpha1.IsolationFull, "3"))
	held := born(ctx, t, "held", "c")
	victim := last(held)
	t.Cleanup(func() { must(t, plug(context.Background(), victim, 1)) })
	awaitNewAgent(ctx, t, func() { must(t, plug(ctx, victim, 0)) })
	after := awaitCount(ctx, t, "held", "c", 3)
	if after.Has(victim) {
		t.Errorf("held still has the offline CPU %d of %v", victim, after)
	}
	checkPartition(ctx, t, "held", "isolated", after)
	awaitNewAgent(ctx, t, func() { must(t, plug(ctx, victim, 1)) })
	checkPartition(ctx, t, "held", "isolated", after)
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(after))
}

func hasPartitions(ctx context.Context, t *testing.T) bool {
	t.Helper()
	out, err := cluster.Shell(ctx, "ls /sys/fs/cgroup/kubepods*/cpuset.cpus.exclusive 2>/dev/null || true")
	must(t, err)
	return out != ""
}

// isolated returns a pod of one container with exclusive CPUs of one NUMA node. If the parameter
// `isolation` is not "", it is the value of the pod's annotation numalet.dev/isolation.
func isolated(name, isolation, cpu string) *corev1.Pod {
	pod := e2eutil.Pod(name, "single", e2eutil.Container{Name: "c", CPU: cpu})
	if isolation != "" {
		pod.Annotations[v1alpha1.AnnotationIsolation] = isolation
	}
	return pod
}

// ofCgroup runs a shell command in the directory of the cgroup of a pod's container.
func ofCgroup(ctx context.Context, t *testing.T, pod, command string) string {
	t.Helper()
	return strings.TrimSpace(ofProbe(ctx, t, pod, "cd /sys/fs/cgroup$(cut -d: -f3 /proc/$p/cgroup) && "+command))
}

// checkPartition checks that the cgroup of a pod's container is a valid partition with exactly
// these CPUs.
func checkPartition(ctx context.Context, t *testing.T, pod, kind string, cpus cpuset.Set) {
	t.Helper()
	got := ofCgroup(ctx, t, pod, "echo $(cat cpuset.cpus.partition cpuset.cpus.effective cpuset.cpus.exclusive)")
	if want := fmt.Sprintf("%s %s %s", kind, cpus, cpus); got != want {
		t.Errorf("partition, effective and exclusive CPUs of %s: %q, want %q", pod, got, want)
	}
}

// runOutside runs a command as a service of systemd, outside of Kubernetes, until the test ends. It
// returns the PID.
func runOutside(ctx context.Context, t *testing.T, unit, command string) string {
	t.Helper()
	_, err := cluster.Shell(ctx, "systemd-run --slice=system.slice --unit="+unit+" "+command)
	must(t, err)
	t.Cleanup(func() {
		_, err := cluster.Shell(context.Background(), "systemctl stop "+unit)
		must(t, err)
	})
	pid, err := cluster.Shell(ctx, "systemctl show --property MainPID --value "+unit)
	must(t, err)
	return strings.TrimSpace(pid)
}

// checkOutside checks that some processes outside of the isolated containers may not run on the
// CPUs of these containers. The processes are a service of systemd, systemd itself, the kernel
// thread that starts the other kernel threads, the kubelet and containerd. The service must not be
// able to move itself to one of these CPUs either.
func checkOutside(ctx context.Context, t *testing.T, service string, cpus cpuset.Set) {
	t.Helper()
	out, err := cluster.Shell(ctx, "for p in "+service+" 1 2 $(pidof kubeone containerd); do grep Cpus_allowed_list /proc/$p/status; done")
	must(t, err)
	lines := strings.Fields(strings.ReplaceAll(out, "Cpus_allowed_list:", ""))
	if len(lines) < 5 {
		t.Fatalf("allowed CPUs of processes outside: %q", out)
	}
	for _, allowed := range lines {
		if got, err := cpuset.Parse(allowed); err != nil || got.Overlaps(cpus) {
			t.Errorf("a process outside may run on CPUs %s (%v), of which %s are isolated", allowed, err, cpus)
		}
	}
	if out, err := cluster.Shell(ctx, fmt.Sprintf("taskset --cpu-list --pid %s %s", cpus, service)); err == nil {
		t.Errorf("a process outside moved itself to CPUs %s: %s", cpus, out)
	}
}

// checkInterrupts checks that no interrupt that can be moved, and no unbound workqueue, may run on
// the CPUs.
func checkInterrupts(ctx context.Context, t *testing.T, cpus cpuset.Set) {
	t.Helper()
	out, err := cluster.Shell(ctx, `cd /proc/irq && for i in [0-9]*; do
  read list <$i/smp_affinity_list && echo $list >$i/smp_affinity_list && echo $i $list
done 2>/dev/null; echo workqueues $(cat /sys/devices/virtual/workqueue/cpumask)`)
	must(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		name, list, _ := strings.Cut(line, " ")
		parse := cpuset.Parse
		if name == "workqueues" {
			parse = cpuset.ParseMask
		}
		if got, err := parse(list); err != nil || got.Overlaps(cpus) {
			t.Errorf("interrupt or workqueue %s is on CPUs %s (%v), of which %s are isolated", name, list, err, cpus)
		}
	}
	if len(lines) < 2 {
		t.Errorf("no interrupt can be moved: %q", out)
	}
}

// watchPartition records every state of the partition of a pod's container until the caller calls
// the returned function. That function returns the states in their order.
func watchPartition(ctx context.Context, t *testing.T, pod string) func() []string {
	t.Helper()
	_, err := cluster.Shell(ctx, "rm -f /tmp/stop")
	must(t, err)
	dir := ofCgroup(ctx, t, pod, "pwd")
	watch, out, err := cluster.Spawn(ctx, "cd "+dir+` && while [ ! -e /tmp/stop ]; do
  now=$(echo $(cat cpuset.cpus.partition cpuset.cpus.effective))
  [ "$now" = "$last" ] || echo "$now"; last=$now
done`)
	must(t, err)
	return func() []string {
		_, err := cluster.Shell(ctx, "touch /tmp/stop")
		must(t, err)
		must(t, watch.Wait())
		return strings.Split(strings.TrimSpace(out.String()), "\n")
	}
}

// leftOfPartitions returns the effective CPUs (cpuset.cpus.effective) of the root cgroup, and the
// contents of the files cpuset.cpus.exclusive of all other cgroups. If nothing is left of the
// partitions, the result is only the list of all CPUs.
func leftOfPartitions(ctx context.Context, t *testing.T) string {
	t.Helper()
	out, err := cluster.Shell(ctx, "echo $(cat /sys/fs/cgroup/cpuset.cpus.effective; find /sys/fs/cgroup -name cpuset.cpus.exclusive -exec cat {} +)")
	must(t, err)
	return strings.TrimSpace(out)
}
