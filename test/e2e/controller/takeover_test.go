//go:build e2e

package controller

import (
	"flag"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

var (
	takeoverPods = flag.Int("pods", 300, "pods that are bound while leaders go")
	takeovers    = flag.Int("takeovers", 2, "how many leaders go, of each kind")
)

// TestKilled runs two controllers. Several times, it kills the leader while the leader binds pods.
// It checks that the other controller continues, that every pod is bound once, and that no resource
// is assigned twice.
func TestKilled(t *testing.T) {
	takeOver(t, func(r *replicas, _ int, _ func()) { r.kill(r.leader(nil)) })
}

// TestFrozen stops the leader's process with SIGSTOP, in several rounds. In each round, it waits
// until another replica has acquired the lease, and in every second round, until this replica has
// also bound pods. Then the stopped process continues. TestFrozen checks that every pod is bound
// once, and that no resource is assigned twice.
func TestFrozen(t *testing.T) {
	takeOver(t, func(r *replicas, round int, someBound func()) {
		r.freeze(r.leader(nil), func() {
			if round%2 == 0 {
				someBound()
			}
		})
	})
}

// takeOver creates pods with different forms of requests. All of them are pending at the start.
// Whenever more than a fifth of the pods are bound, the Witness (test/hollowcluster) deletes some,
// so that the nodes stay nearly full. In each round, takeOver waits until more of the pods have
// been bound. Then it calls the function `goes`, which kills or stops the leader.
func takeOver(t *testing.T, goes func(r *replicas, round int, someBound func())) {
	pods := *takeoverPods
	shape := hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 2}
	w := newPlane(t, pods/20, shape)
	witness, err := w.Witness(w.ctx, pods/5)
	w.must(err)
	w.must(w.MakePods(w.ctx, "default", pods, crowd))
	r := newReplicas(w)
	await := func(n int) {
		t.Helper()
		w.must(witness.Await(w.ctx, n, time.Minute, func() { r.tend(nil) }))
	}
	for round := 1; round <= *takeovers; round++ {
		bound, _ := witness.Said()
		await(bound + (pods-bound)/(*takeovers+2-round))
		begun, _ := witness.Said()
		witness.Spare(func() {
			goes(r, round, func() {
				t.Helper()
				bound, _ := witness.Said()
				await(min(bound+10, pods))
			})
		})
		bound, _ = witness.Said()
		t.Logf("round %d: the leader went after %d binds, the next one leads after %d", round, begun, bound)
	}
	await(pods)
	w.full(pods/20, shape, func(n int) { await(pods + n) })
	t.Logf("%d pods bound once by %d replicas; %d binds were left alone without a lease", pods, len(r.logs), r.fenced)
}

// full deletes all pods, and then creates pods that together need all exclusive CPUs. It checks
// that all new pods are bound, which is possible only if no CPU is still assigned to a deleted pod.
func (w *world) full(nodes int, s hollowcluster.Shape, await func(n int)) {
	w.Helper()
	w.must(w.Clear(w.ctx, "default"))
	w.must(w.MakePods(w.ctx, "default", 2*nodes, func(i int) *corev1.Pod {
		return ours(fmt.Sprintf("full-%04d", i), fmt.Sprint(s.CPUs-i%2), v1alpha1.PolicySingle)
	}))
	await(2 * nodes)
}

// crowd returns the i-th pod of takeOver. Successive pods have different forms of requests.
func crowd(i int) *corev1.Pod {
	name := fmt.Sprintf("pod-%05d", i)
	switch i % 8 {
	case 0:
		return ours(name, "4", v1alpha1.PolicySpread)
	case 1:
		return ours(name, "3", v1alpha1.PolicySingle)
	case 2:
		return ours(name, "5", v1alpha1.PolicyRandom)
	case 3:
		return explicit(name, "1", "2")
	case 4:
		return hollowcluster.Pod("default", name, "numalet-scheduler", "500m", 1)
	case 5:
		return ours(name, "1500m", "")
	case 6:
		return phased(name)
	}
	pod := hollowcluster.Pod("default", name, "numalet-scheduler", "2", 1)
	pod.Annotations[v1alpha1.AnnotationCPUPolicy] = v1alpha1.PolicySingle
	pod.Spec.Containers = append(pod.Spec.Containers, container("beside", "100m"))
	return pod
}

// explicit returns a pod that requests CPUs of the NUMA nodes 0 and 1 by number.
func explicit(name, on0, on1 string) *corev1.Pod {
	zero, one := quantity(on0), quantity(on1)
	sum := zero.DeepCopy()
	sum.Add(one)
	pod := ours(name, sum.String(), "")
	list := pod.Spec.Containers[0].Resources.Limits
	list[corev1.ResourceName(v1alpha1.NUMAResource(0))], list[corev1.ResourceName(v1alpha1.NUMAResource(1))] = zero, one
	pod.Spec.Containers[0].Resources.Requests = list
	return pod
}

// phased returns a pod whose init container needs 6 CPUs. After the init container has ended, the
// main container needs 2 CPUs and the sidecar 1.
func phased(name string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	pod := ours(name, "2", v1alpha1.PolicySingle)
	pod.Spec.InitContainers = []corev1.Container{container("first", "6"), container("side", "1")}
	pod.Spec.InitContainers[1].RestartPolicy = &always
	return pod
}

func container(name, cpus string) corev1.Container {
	c := ours("", cpus, "").Spec.Containers[0]
	c.Name = name
	return c
}
