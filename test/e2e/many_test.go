//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

const (
	fewPods      = 10 // how many shared pods (pods without exclusive CPUs) run during the first measurement of TestManyPods
	manyRuns     = 3  // how often TestManyPods repeats each measurement
	manyParts    = 6  // how often TestManyPods reads the agent's memory while it replaces shared pods
	manyStarters = 10 // how many shared pods TestManyPods starts or replaces at a time
	manyLabel    = "numalet-e2e=many"
)

// TestManyPods starts pods that have one container with shared CPUs. The flag -many-pods is the
// number of these pods. Then the test replaces some of them, chosen at random, for the duration in
// the flag -many-for. Meanwhile, pods of all kinds come and go, most of them with exclusive
// CPUs. The test measures how long pods take to start, which part of this time the agent needs, and
// how much memory the agent uses. It does so while few pods are on the node, and again while many
// are. It checks all CPUs as TestChurn does, but not the measured values.
func TestManyPods(t *testing.T) {
	t.Logf("seed %d: repeat with -seed %[1]d", *seed)
	n := *manyPods
	limit := 10*time.Minute + *manyFor + time.Duration(n)*24*time.Second
	ctx := start(t, limit, slices.Concat(manyNames(n), churnNames(n), timedNames(fewPods), timedNames(n))...)
	must(t, watchSeldom(ctx))
	stop := watch(ctx, t, "-every", "2s") // longer pauses than usual, because the watcher reads many files each time: two for each container and two for each sandbox
	guests, memory := guests{}, &strings.Builder{}

	noteMemory(ctx, t, memory, "none")
	eachPod(ctx, t, 0, fewPods, startOne)
	timings := timeStarts(ctx, t, fewPods)
	noteMemory(ctx, t, memory, fmt.Sprint(fewPods))
	eachPod(ctx, t, fewPods, n, startOne)
	checkManyRun(ctx, t, n)
	noteMemory(ctx, t, memory, fmt.Sprint(n))
	timings = append(timings, timeStarts(ctx, t, n)...)
	guests.during(ctx, t, func() {
		for part := range manyParts {
			replaceFor(ctx, t, n, part)
			noteMemory(ctx, t, memory, fmt.Sprintf("%d, after replacements for %v", n, *manyFor*time.Duration(part+1)/manyParts))
		}
	})
	checkManyRun(ctx, t, n)
	eachPod(ctx, t, 0, n, endOne)
	noteMemory(ctx, t, memory, "none again")

	report := stop()
	t.Logf("%d pods of all kinds came and went; the watcher saw %d exclusive and %d shared containers in %d passes (%d readings, longest gap %d ms), %d overlaps; %d times a pause process not yet confined",
		guests.came.Load(), report.Exclusive, report.Shared, report.Passes, report.Readings, report.LongestMS, len(report.Violations), report.Sandboxes)
	t.Logf("for docs/benchmarks/logs/reliability.md:\n%s\n%s", e2eutil.Table(*flavour, timings), memory)
	if len(report.Violations) > 0 || report.Exclusive == 0 || report.Shared < n {
		t.Errorf("watcher: %+v", report)
	}
	checkLives(ctx, t)
	nothingHeld(ctx, t)
}

// watchSeldom makes the kubelet and containerd look at running containers less often than the rig
// usually configures. Otherwise these looks need all CPU time of an emulated node that has 170
// containers, as a CPU profile of the kubelet showed. The kubelet then checks each pod once a minute,
// which is its default. It reads the statistics of a cgroup every ten minutes instead of every 30 s,
// and it evicts no pods, because it would ask the shim of each container for statistics every 10 s.
// containerd 2.4 reads these statistics once an hour instead of once a minute.
func watchSeldom(ctx context.Context) error {
	_, err := cluster.Shell(ctx, "sed -i -e 's/^syncFrequency:.*/syncFrequency: 1m/' -e "+
		"'s/^evictionHard:.*/evictionHard: {memory.available: 0%, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%}\\nlocalStorageCapacityIsolation: false/' /var/lib/kubelet/config.yaml && "+
		"sed -i 's/--housekeeping-interval=[^ ]*/--housekeeping-interval=10m/' /usr/local/lib/rig/kubelet && "+
		`sed -i 's/stats_collect_period = .*/stats_collect_period = "1h"/' /etc/containerd/config.toml && `+
		"systemctl restart containerd kubelet")
	return err
}

func manyNames(n int) (names []string) {
	for i := range n {
		names = append(names, manyName(i))
	}
	return names
}

func timedNames(n int) (names []string) {
	for i := range 2 * manyRuns {
		names = append(names, fmt.Sprintf("timed-%d-%d", n, i))
	}
	return names
}

func manyName(i int) string { return fmt.Sprintf("many-%03d", i) }

// eachPod calls the function given as `do` once for each shared pod. It passes the index of the pod,
// from the parameter `first` to past-1. It makes manyStarters calls at a time.
func eachPod(ctx context.Context, t *testing.T, first, past int, do func(ctx context.Context, i int) error) {
	t.Helper()
	began, next := time.Now(), make(chan int)
	var workers sync.WaitGroup
	for range manyStarters {
		workers.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := first; i < past && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	workers.Wait()
	t.Logf("pods %d to %d: %.0f s", first, past-1, time.Since(began).Seconds())
}

// startOne starts a pod of one container with shared CPUs, and waits until it runs.
func startOne(ctx context.Context, i int) error {
	pod := e2eutil.Crowd(manyName(i), 1)
	name, value, _ := strings.Cut(manyLabel, "=")
	pod.Labels = map[string]string{name: value}
	if _, err := cluster.Create(ctx, pod); err != nil {
		return err
	}
	_, err := cluster.Await(ctx, pod.Name, e2eutil.Running)
	return err
}

func endOne(ctx context.Context, i int) error { return cluster.Delete(ctx, manyName(i)) }

// replaceFor deletes a randomly chosen pod of the n shared pods, and starts it again. It repeats
// this for one of manyParts equal parts of the duration in the flag -many-for.
func replaceFor(ctx context.Context, t *testing.T, n, part int) {
	until, replaced := time.Now().Add(*manyFor/manyParts), atomic.Int32{}
	var workers sync.WaitGroup
	for worker := range min(n, manyStarters) { // each worker replaces only its own pods: those whose number modulo manyStarters is the worker's number
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(*seed, uint64(part*manyStarters+worker)))
			for ctx.Err() == nil && time.Now().Before(until) {
				i := worker + manyStarters*rng.IntN((n-worker+manyStarters-1)/manyStarters)
				if err := endOne(ctx, i); err != nil {
					t.Error(err)
				}
				if err := startOne(ctx, i); err != nil {
					t.Error(err)
				}
				replaced.Add(1)
			}
		})
	}
	workers.Wait()
	t.Logf("%d of the %d shared pods were replaced in %v", replaced.Load(), n, *manyFor/manyParts)
}

// guests counts the pods of all kinds that have come and gone in TestManyPods.
type guests struct{ came atomic.Int32 }

// The method `during` calls the function given as `work`. Until `work` has returned, it creates and
// deletes the pods of TestChurn, one after another.
func (g *guests) during(ctx context.Context, t *testing.T, work func()) {
	done := make(chan bool)
	go func() { // if work ends the goroutine with t.FailNow, done is closed, too
		defer close(done)
		work()
	}()
	for {
		select {
		case <-done:
			return
		default:
			churnOne(ctx, t, int(g.came.Add(1))-1)
		}
	}
}

// checkManyRun checks that all n shared pods run, and that none of their containers was restarted.
func checkManyRun(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	list, err := cluster.API.CoreV1().Pods(cluster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: manyLabel})
	must(t, err)
	if len(list.Items) != n {
		t.Errorf("%d shared pods exist, want %d", len(list.Items), n)
	}
	for _, pod := range list.Items {
		if !e2eutil.Running(&pod) || pod.Status.ContainerStatuses[0].RestartCount > 0 {
			t.Errorf("%s does not run, or was restarted: %+v", pod.Name, pod.Status)
		}
	}
}

// timeStarts starts pods one after another while n shared pods run: first pods with exclusive CPUs,
// then shared pods. It checks that all shared containers of the node lose the exclusive CPUs before
// the exclusive pod runs, and get them back when it has ended.
func timeStarts(ctx context.Context, t *testing.T, n int) []e2eutil.Timing {
	t.Helper()
	all := cpuset.Range(0, 15)
	shared := cgroups{"*", 2 * n} // each pod has a container and a sandbox
	names := timedNames(n)
	var timings []e2eutil.Timing
	for _, kind := range []struct{ what, policy, cpu string }{{"an exclusive pod", "single", "4"}, {"a shared pod", "", "1"}} {
		start := e2eutil.Timing{What: "time from the creation of " + kind.what + " until it runs", Shared: n}
		agent := e2eutil.Timing{What: "time that " + kind.what + " spends in hooks of the agent before it runs", Shared: n}
		for range manyRuns {
			shared.await(ctx, t, all)
			name := names[0]
			names = names[1:]
			before, began := scrape(ctx, t), time.Now()
			create(ctx, t, e2eutil.Pod(name, kind.policy, e2eutil.Container{Name: "c", CPU: kind.cpu}))
			start.Took = append(start.Took, time.Since(began))
			after := scrape(ctx, t)
			agent.Took = append(agent.Took, startHooks(t, before, after))
			if kind.policy != "" {
				shared.check(ctx, t, all.Minus(born(ctx, t, name, "c")))
			}
			must(t, cluster.Delete(ctx, name))
		}
		timings = append(timings, start, agent)
		t.Logf("%s while %d shared pods run: %v, of that in the agent's hooks %v", kind.what, n, start.Took, agent.Took)
	}
	return timings
}

// startHooks returns how much time the agent needed for NRI hooks between two scrapes of its
// metrics. The hooks are those that the container runtime calls when it starts pods and containers.
// The time of failed hooks is included, and they are logged.
func startHooks(t *testing.T, before, after e2eutil.Series) time.Duration {
	t.Helper()
	var total float64
	for _, hook := range []string{"RunPodSandbox", "CreateContainer", "StartContainer"} {
		total += after.Since(before, `numalet_hook_duration_seconds_sum{hook="`+hook+`",`)
		if failed := after.Since(before, `numalet_hook_duration_seconds_count{hook="`+hook+`",result="error"`); failed > 0 {
			t.Logf("%g times the hook %s failed before; the time is counted", failed, hook)
		}
	}
	return seconds(total)
}

// noteMemory writes two values to a table, in MiB: the resident memory of the agent now, and its
// highest resident memory so far. The parameter `running` says how many shared pods run.
func noteMemory(ctx context.Context, t *testing.T, table *strings.Builder, running string) {
	t.Helper()
	if table.Len() == 0 {
		table.WriteString("| shared pods | agent's resident memory, MiB | highest so far, MiB |\n|---|---:|---:|\n")
	}
	out, err := cluster.Shell(ctx, "cat /proc/$(pidof numalet-agent)/status")
	must(t, err)
	kiB := map[string]float64{}
	for line := range strings.Lines(out) {
		var name string
		var value float64
		if _, err := fmt.Sscanf(line, "%s %g kB", &name, &value); err == nil {
			kiB[name] = value
		}
	}
	if kiB["VmRSS:"] == 0 {
		t.Errorf("the status of the agent's process has no VmRSS: %s", out)
	}
	fmt.Fprintf(table, "| %s | %.1f | %.1f |\n", running, kiB["VmRSS:"]/1024, kiB["VmHWM:"]/1024)
	t.Logf("shared pods: %s; the agent's memory: %.1f MiB", running, kiB["VmRSS:"]/1024)
}
