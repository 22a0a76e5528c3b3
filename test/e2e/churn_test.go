//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// victims are the names of the programs that TestChurn kills with SIGKILL. The program kubeone is
// the kubelet of the test cluster. Each program is restarted automatically.
var victims = []string{"numalet-agent", "containerd", "kubeone"}

// TestChurn starts and ends pods of all kinds, several at a time. Meanwhile it kills the agent,
// containerd and the kubelet. The program `probe watch` on the node reads the cpusets of all
// containers. This program checks that a CPU that is exclusive to one container is not in the cpuset
// of another one. The containers also record their own allowed CPUs. The test checks these records
// at the end.
func TestChurn(t *testing.T) {
	t.Logf("seed %d: repeat with -seed %[1]d", *seed)
	ctx := start(t, 2*time.Minute+time.Duration(*churnPods)*40*time.Second, churnNames(*churnPods)...)
	stop := watch(ctx, t)
	kill := killPlan(rand.New(rand.NewPCG(*seed, 0)))
	next := make(chan int)
	var workers sync.WaitGroup
	for range 5 {
		workers.Go(func() {
			for i := range next {
				churnOne(ctx, t, i)
			}
		})
	}
	for i := range *churnPods {
		for _, victim := range kill[i] {
			workers.Go(func() { killNow(ctx, t, victim) })
		}
		next <- i
	}
	close(next)
	workers.Wait()
	report := stop()
	t.Logf("%d pods: the watcher saw %d exclusive and %d shared containers in %d passes (%d readings, longest gap %d ms), %d overlaps; %d times a pause process not yet confined",
		*churnPods, report.Exclusive, report.Shared, report.Passes, report.Readings, report.LongestMS, len(report.Violations), report.Sandboxes)
	if len(report.Violations) > 0 || report.Exclusive == 0 || report.Shared == 0 {
		t.Errorf("watcher: %+v", report)
	}
	checkLives(ctx, t)
	nothingHeld(ctx, t)
}

// churnOne creates a pod, waits until it runs, and deletes it. If the test kills a program while
// the pod starts, the pod may end early, unless its containers are restarted. churnOne does not
// count this as a failure.
func churnOne(ctx context.Context, t *testing.T, i int) {
	rng := rand.New(rand.NewPCG(*seed, uint64(i)+1))
	pod := shape(rng, i)
	if _, err := cluster.Create(ctx, pod); err != nil {
		t.Errorf("create: %v", err)
		return
	}
	pod, err := cluster.Await(ctx, pod.Name, func(p *corev1.Pod) bool { return e2eutil.Running(p) || v1alpha1.Ended(p) })
	if err != nil {
		t.Errorf("await: %v", err)
		return
	}
	if pod.Status.Phase == corev1.PodFailed {
		t.Logf("%s was killed in its start", pod.Name)
	}
	select {
	case <-time.After(time.Duration(rng.IntN(4000)) * time.Millisecond):
	case <-ctx.Done():
	}
	if err := cluster.Delete(ctx, pod.Name); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// shape returns a random pod. The pod has one of the CPU policies or shared CPUs, and may have
// further containers. Some pods end soon, and all others run until they are deleted. TestChurn runs
// five pods at a time, and pods with exclusive CPUs request 1 to 4 CPUs. So all five usually fit on
// the 14 CPUs of the node, but sometimes one has to wait.
func shape(rng *rand.Rand, i int) *corev1.Pod {
	name := churnNames(i + 1)[i]
	policy := []string{"spread", "single", "random", ""}[rng.IntN(4)]
	main := e2eutil.Container{Name: "main", CPU: fmt.Sprint(1 + rng.IntN(4))}
	if policy == "" {
		main.CPU = "100m"
	}
	containers := []e2eutil.Container{main}
	if rng.IntN(3) == 0 {
		containers = append(containers, e2eutil.Container{Name: "log", CPU: "50m"})
	}
	if rng.IntN(4) == 0 {
		containers = append(containers, e2eutil.Container{Name: "init", CPU: main.CPU, Init: true, Life: 300 * time.Millisecond})
	}
	if rng.IntN(4) == 0 {
		containers[0].Life = 2 * time.Second
		return e2eutil.Once(e2eutil.Pod(name, policy, containers[0]))
	}
	return e2eutil.Pod(name, policy, containers...)
}

func churnNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("churn-%03d", i)
	}
	return names
}

// killPlan chooses at random when programs are killed. The keys are indexes of pods. The value
// lists the names of the programs that are killed while this pod is created.
func killPlan(rng *rand.Rand) map[int][]string {
	plan := map[int][]string{}
	for range *churnKills {
		for _, victim := range victims {
			i := rng.IntN(*churnPods)
			plan[i] = append(plan[i], victim)
		}
	}
	return plan
}

// killNow kills all processes of a program on the node with SIGKILL. It does not wait for the
// restart.
func killNow(ctx context.Context, t *testing.T, victim string) {
	out, err := cluster.Shell(ctx, "pidof "+victim+" && kill -9 $(pidof "+victim+")")
	if err != nil {
		t.Errorf("kill %s: %v", victim, err)
		return
	}
	t.Logf("killed %s (pid %s)", victim, strings.TrimSpace(out))
}

// watch starts `probe watch` (test/e2e/probe) on the node, with the given flags. The returned
// function stops it and returns its report.
func watch(ctx context.Context, t *testing.T, flags ...string) func() watchReport {
	t.Helper()
	cmd, out, err := cluster.Spawn(ctx, "exec /usr/local/bin/probe watch "+strings.Join(flags, " "))
	must(t, err)
	return func() watchReport { return stopWatch(ctx, t, cmd, out) }
}

// watchReport is the JSON output of `probe watch`.
type watchReport struct {
	Passes, Readings, Exclusive, Shared, Sandboxes int
	Violations                                     []string
	LongestMS                                      int64 `json:"longestMs"`
}

func stopWatch(ctx context.Context, t *testing.T, cmd *exec.Cmd, out *bytes.Buffer) (r watchReport) {
	t.Helper()
	_, err := cluster.Shell(ctx, "kill -TERM $(pidof probe)")
	must(t, err)
	must(t, cmd.Wait())
	_, text, _ := strings.Cut(out.String(), "watching\n")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("watcher said %q: %v", out, err)
	}
	return r
}

// checkLives checks the records that containers made of their own allowed CPUs. Exclusive CPUs of
// different containers must not overlap, and the exclusive CPUs of a container must not change.
func checkLives(ctx context.Context, t *testing.T) {
	t.Helper()
	lives, err := cluster.Lives(ctx)
	must(t, err)
	samples := 0
	for _, l := range lives {
		samples += len(l.Samples)
	}
	overlaps, moved := e2eutil.Overlaps(lives), e2eutil.Moved(lives)
	t.Logf("%d lives wrote %d samples: %d overlaps, %d moved", len(lives), samples, len(overlaps), len(moved))
	for _, bad := range append(overlaps, moved...) {
		t.Error(bad)
	}
}

// nothingHeld checks that no CPU is still assigned after all pods have ended: a new container with
// shared CPUs may use every CPU.
func nothingHeld(ctx context.Context, t *testing.T) {
	t.Helper()
	defer func() { must(t, cluster.Delete(ctx, "after")) }()
	_, err := cluster.Create(ctx, e2eutil.Pod("after", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	must(t, err)
	_, err = cluster.Await(ctx, "after", e2eutil.Running)
	must(t, err)
	awaitCPUs(ctx, t, "after", "c", cpuset.Range(0, 15))
}
