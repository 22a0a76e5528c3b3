//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// latencyRuns is how often TestLatency repeats each measurement.
const latencyRuns = 3

// TestLatency measures the delay that exclusive CPUs cause when a container is created: the
// containers with shared CPUs must lose these CPUs first. To take the CPUs away, the agent writes
// the cgroups of the containers itself. For comparison, the test also measures a method that the
// agent does not use: container updates in the response to an NRI request. The test prints a table
// for docs/benchmarks/logs/performance.md. It fails if the shared containers have not lost the
// CPUs. A long delay is no failure.
func TestLatency(t *testing.T) {
	ctx := start(t, 75*time.Minute, "crowd", "guest", "trigger")
	var timings []e2eutil.Timing
	defer func() { t.Logf("for docs/benchmarks/logs/performance.md:\n%s", e2eutil.Table(*flavour, timings)) }()
	for _, n := range []int{1, 10, 100} {
		timings = append(timings, timeAgent(ctx, t, n)...)
	}
	must(t, requireAgent(ctx, false))
	t.Cleanup(func() { must(t, requireAgent(context.Background(), true)) })
	sendAway(ctx, t)
	// timeUpdates measures the container updates. The test does not call it with 100 containers. In
	// emulation, the 100 updates would take about 90 s. This is too close to the kubelet's timeout
	// of 2 minutes for the creation of a container.
	for _, n := range []int{1, 10} {
		timings = append(timings, timeUpdates(ctx, t, n)...)
	}
	callBack(ctx, t)
}

// timeAgent creates exclusive containers, one after the other, while n shared containers run. It
// reads from the agent's metrics how long the NRI hook CreateContainer took.
func timeAgent(ctx context.Context, t *testing.T, n int) []e2eutil.Timing {
	t.Helper()
	hook := e2eutil.Timing{What: "agent: CreateContainer", Shared: n}
	shrink := e2eutil.Timing{What: "agent: of that, shrinking", Shared: n}
	create(ctx, t, e2eutil.Crowd("crowd", n))
	shared := crowd(ctx, t, n+1) // with the sandbox
	for range latencyRuns {
		shared.await(ctx, t, cpuset.Range(0, 15))
		before := scrape(ctx, t)
		create(ctx, t, e2eutil.Pod("guest", "single", e2eutil.Container{Name: "c", CPU: "4"}))
		after := scrape(ctx, t)
		shared.check(ctx, t, cpuset.Range(0, 15).Minus(born(ctx, t, "guest", "c")))
		checkOneCreated(t, before, after)
		hook.Took = append(hook.Took, seconds(after.Since(before, `numalet_hook_duration_seconds_sum{hook="CreateContainer",`)))
		shrink.Took = append(shrink.Took, seconds(after.Since(before, `numalet_cgroup_write_duration_seconds_sum{cause="shrink"}`)))
		must(t, cluster.Delete(ctx, "guest"))
	}
	must(t, cluster.Delete(ctx, "crowd"))
	return []e2eutil.Timing{hook, shrink}
}

// checkOneCreated checks that exactly one call of the agent's hook CreateContainer succeeded between
// two scrapes of the agent's metrics. It logs how many calls failed. The measured time includes the
// time of the failed calls.
func checkOneCreated(t *testing.T, before, after e2eutil.Series) {
	t.Helper()
	const count = `numalet_hook_duration_seconds_count{hook="CreateContainer",result=`
	if created := after.Since(before, count+`"ok"`); created != 1 {
		t.Errorf("the agent answered %g creations meanwhile, want 1", created)
	}
	if failed := after.Since(before, count+`"error"`); failed > 0 {
		t.Logf("%g tries failed before; their time is counted", failed)
	}
}

func scrape(ctx context.Context, t *testing.T) e2eutil.Series {
	t.Helper()
	page, err := cluster.Shell(ctx, "/usr/local/bin/probe metrics")
	must(t, err)
	all, err := e2eutil.ParseSeries(page)
	must(t, err)
	return all
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// crowd returns the cgroups of the containers and of the sandbox of the pod crowd. The parameter
// `atLeast` is how many of them must have the expected CPUs.
func crowd(ctx context.Context, t *testing.T, atLeast int) cgroups {
	t.Helper()
	pod, err := cluster.API.CoreV1().Pods(cluster.Namespace).Get(ctx, "crowd", metav1.GetOptions{})
	must(t, err)
	return cgroups{strings.ReplaceAll(string(pod.UID), "-", "?"), atLeast} // ? matches "-" and "_": with the systemd cgroup driver, the UID in the cgroup's name has "_" in place of "-"
}

// cgroups are the cgroups of the containers and sandboxes of pods of the QoS class Burstable. The
// field `uid` is a pattern for the UIDs of the pods. The methods `check` and `await` require that at
// least `atLeast` of the cgroups have the given CPUs.
type cgroups struct {
	uid     string
	atLeast int
}

// check checks that the cgroups may use exactly the given CPUs.
func (c cgroups) check(ctx context.Context, t *testing.T, want cpuset.Set) {
	t.Helper()
	if on := c.byCPUs(ctx, t); on[want.String()] < c.atLeast {
		t.Errorf("cgroups by their CPUs: %v, want at least %d on %v", on, c.atLeast, want)
	}
}

// await waits until the cgroups may use exactly the given CPUs.
func (c cgroups) await(ctx context.Context, t *testing.T, want cpuset.Set) {
	t.Helper()
	for {
		on := c.byCPUs(ctx, t)
		if on[want.String()] >= c.atLeast {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("cgroups by their CPUs: %v, want at least %d on %v", on, c.atLeast, want)
		case <-time.After(time.Second):
		}
	}
}

// byCPUs returns how many of the cgroups have each value of cpuset.cpus.effective.
func (c cgroups) byCPUs(ctx context.Context, t *testing.T) map[string]int {
	t.Helper()
	out, err := cluster.Shell(ctx, "cat /sys/fs/cgroup/kubepods*/*burstable*/*pod"+c.uid+"*/*/cpuset.cpus.effective")
	must(t, err)
	on := map[string]int{}
	for _, cpus := range strings.Fields(out) {
		on[cpus]++
	}
	return on
}
