//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// measureFor is how long TestLatencyIsolation measures each pod.
const measureFor = time.Minute

// TestLatencyIsolation measures how much a pod with exclusive CPUs is disturbed without and with
// isolation. Meanwhile, a service of systemd and a pod with shared CPUs use CPU time, and another
// service reads the disk, which causes interrupts. cyclictest runs in the cgroup of the pod's
// container, and measures the wake-up latency there. The test writes the results to the file of the
// flag -disturbed, and prints them. It checks that the first service and the kubelet may not run on
// isolated CPUs. It does not check the measured values.
func TestLatencyIsolation(t *testing.T) {
	ctx := start(t, 15*time.Minute, "noisy", "held")
	if !hasPartitions(ctx, t) {
		t.Skip("the kernel has no cpuset partitions: run with -flavour backports")
	}
	installWith(ctx, t, "pools[0].settings.isolation=true")
	must(t, cluster.Copy(ctx, "/usr/bin/cyclictest", "/usr/local/bin/cyclictest"))
	must(t, cluster.Copy(ctx, "/usr/lib/x86_64-linux-gnu/libnuma.so.1", "/usr/local/lib/libnuma.so.1"))
	service := runOutside(ctx, t, "outside", "/usr/local/bin/probe noise -threads 16 -busy 3ms -every 200ms")
	runOutside(ctx, t, "disk", "sh -c 'while dd if=/dev/vda of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null; do sleep 0.2; done'")
	create(ctx, t, noisy("noisy"))
	var all []e2eutil.Disturbed
	for _, isolation := range []string{"", v1alpha1.IsolationFull, "", v1alpha1.IsolationFull} { // twice, to show how much the results differ by chance
		create(ctx, t, roomy(isolated("held", isolation, "2")))
		cpus := born(ctx, t, "held", "c")
		if isolation != "" {
			checkPartition(ctx, t, "held", "isolated", cpus)
			checkOutside(ctx, t, service, cpus)
		}
		all = append(all, disturbed(ctx, t, isolation))
		must(t, cluster.Delete(ctx, "held"))
	}
	text, err := json.MarshalIndent(all, "", "  ")
	must(t, err)
	t.Logf("for docs/benchmarks/logs/isolation.json:\n%s", text)
	if *disturbedFile != "" {
		must(t, os.WriteFile(*disturbedFile, append(text, '\n'), 0o644))
	}
}

// disturbed measures how much the pod named "held" is disturbed.
func disturbed(ctx context.Context, t *testing.T, isolation string) e2eutil.Disturbed {
	t.Helper()
	before := scrape(ctx, t)
	cpus := ofCgroup(ctx, t, "held", "cat cpuset.cpus.effective")
	dir := ofCgroup(ctx, t, "held", "pwd")
	out, err := cluster.Shell(ctx, fmt.Sprintf(`sh -c 'echo $$ >%s/cgroup.procs && LD_LIBRARY_PATH=/usr/local/lib exec /usr/local/bin/cyclictest \
  --laptop --quiet --policy=other --affinity=%s --threads=2 --interval=5000 --duration=%d --histogram=1000000' 2>&1 | awk '!/^[0-9]/ || $2+$3 > 0'`,
		dir, cpus, int(measureFor.Seconds())))
	must(t, err)
	after := scrape(ctx, t)
	latencies, err := e2eutil.ParseCyclictest(out)
	must(t, err)
	of := `{container="c",namespace="default",pod="held",`
	total := after.Since(before, "numalet_container_exclusive_cpu_seconds_total"+of)
	if total == 0 {
		t.Fatal("the agent has measured no CPU time of the pod")
	}
	foreign := map[string]float64{}
	for _, source := range []string{"interrupts", "kernel", "other"} {
		foreign[source] = 1000 * after.Since(before, "numalet_container_foreign_cpu_seconds_total"+of+`source="`+source+`"`) / total
	}
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) }
	return e2eutil.Disturbed{
		Isolation: isolation, ForeignMillis: foreign, Wakeups: latencies.Count(),
		MedianMicros: micros(latencies.Quantile(0.5)), P999Micros: micros(latencies.Quantile(0.999)), MaxMicros: micros(latencies.Quantile(1)),
	}
}

// noisy returns a pod with shared CPUs whose threads often use the CPU for a short time.
func noisy(name string) *corev1.Pod {
	pod := roomy(e2eutil.Pod(name, "", e2eutil.Container{Name: "c", CPU: "4"}))
	pod.Spec.Containers[0].Command = []string{"/probe", "noise", "-threads", "16", "-busy", "3ms", "-every", "200ms"}
	return pod
}

// roomy gives the container of a pod memory for cyclictest.
func roomy(pod *corev1.Pod) *corev1.Pod {
	for _, amounts := range []corev1.ResourceList{pod.Spec.Containers[0].Resources.Limits, pod.Spec.Containers[0].Resources.Requests} {
		amounts[corev1.ResourceMemory] = resource.MustParse("64Mi")
	}
	return pod
}
