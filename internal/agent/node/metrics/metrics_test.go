package metrics

import (
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/numalet/numalet/internal/agent/node"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

func TestHoldings(t *testing.T) {
	view := node.View{
		Shared: cpuset.MustParse("0,5-7"), Exclusive: cpuset.MustParse("1-4"),
		Available: map[topology.NodeID]int{0: 0, 8: 3},
		Held: []node.Holding{
			{Pod: workload.Pod{UID: "1", Namespace: "ns", Name: "a"}, Container: "main", Kind: podspec.App, CPUs: cpuset.MustParse("1-4")},
			{Pod: workload.Pod{UID: "1", Namespace: "ns", Name: "a"}, Container: "first", Kind: podspec.Init, CPUs: cpuset.MustParse("1-2")},
			{Pod: workload.Pod{UID: "2", Namespace: "ns", Name: "a"}, Container: "main", Kind: podspec.App, CPUs: cpuset.MustParse("8-11")}, // replaces pod 1, which is terminating
		},
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(Holdings{View: func() node.View { return view }})
	want := []string{
		`numalet_available_cpus{numa="0"} 0`,
		`numalet_available_cpus{numa="8"} 3`,
		`numalet_container_cpus{container="first",kind="init",namespace="ns",pod="a",uid="1"} 2`,
		`numalet_container_cpus{container="main",kind="app",namespace="ns",pod="a",uid="1"} 4`,
		`numalet_container_cpus{container="main",kind="app",namespace="ns",pod="a",uid="2"} 4`,
		`numalet_exclusive_cpus 4`,
		`numalet_shared_cpus 4`,
	}
	if diff := cmp.Diff(want, scrape(r, "numalet_")); diff != "" {
		t.Errorf("holdings (-want +got):\n%s", diff)
	}
}

func TestMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m := New(r)
	m.Hook("CreateContainer", time.Millisecond, nil)
	m.Hook("CreateContainer", time.Millisecond, errors.New("refused"))
	m.Refused(node.Resize)
	m.Saved(time.Millisecond)
	m.Wrote(node.Shrink, 7, time.Millisecond)
	want := []string{
		`numalet_cgroups_written_total{cause="shrink"} 7`,
		`numalet_checkpoint_save_duration_seconds_count 1`,
		`numalet_hook_duration_seconds_count{hook="CreateContainer",result="error"} 1`,
		`numalet_hook_duration_seconds_count{hook="CreateContainer",result="ok"} 1`,
		`numalet_refusals_total{reason="Resize"} 1`,
	}
	got := scrape(r, "numalet_cgroups_", "numalet_checkpoint_save_duration_seconds_count", "numalet_hook_duration_seconds_count", "numalet_refusals_")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestGPUs(t *testing.T) {
	v := &gpu.Inventory{GPUs: []gpu.GPU{
		{UUID: "GPU-a", Model: "NVIDIA H100", Health: gpu.Health{State: gpu.Healthy}},
		{UUID: "GPU-b", Model: "NVIDIA H100", Health: gpu.Health{State: gpu.Unhealthy, Reason: "Xid 79"}},
		{UUID: "GPU-c", Model: "NVIDIA H100"},
	}}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(GPUs{Inventory: func() *gpu.Inventory { return v }})
	want := []string{
		`numalet_gpu_healthy{gpu="GPU-a",type="NVIDIA-H100"} 1`,
		`numalet_gpu_healthy{gpu="GPU-b",type="NVIDIA-H100"} 0`,
		`numalet_gpu_healthy{gpu="GPU-c",type="NVIDIA-H100"} 0`,
	}
	if diff := cmp.Diff(want, scrape(r, "numalet_gpu")); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
}

func TestForeign(t *testing.T) {
	one := ForeignTime{
		Pod: workload.Pod{UID: "1", Namespace: "ns", Name: "a"}, Container: "main", Measured: time.Minute,
		BySource: map[string]time.Duration{"interrupts": time.Second, "other": 1500 * time.Millisecond},
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(Foreign{Times: func() []ForeignTime { return []ForeignTime{one} }})
	want := []string{
		`numalet_container_exclusive_cpu_seconds_total{container="main",namespace="ns",pod="a",uid="1"} 60`,
		`numalet_container_foreign_cpu_seconds_total{container="main",namespace="ns",pod="a",source="interrupts",uid="1"} 1`,
		`numalet_container_foreign_cpu_seconds_total{container="main",namespace="ns",pod="a",source="other",uid="1"} 1.5`,
	}
	if diff := cmp.Diff(want, scrape(r, "numalet_")); diff != "" {
		t.Errorf("foreign time (-want +got):\n%s", diff)
	}
}

// TestHookQuantiles checks that each bucket of the hook durations from 1 ms to 2 s is so narrow
// that a computed quantile is wrong by at most the factor 1.7.
func TestHookQuantiles(t *testing.T) {
	bounds := hookBuckets()
	for i, upper := range bounds[1:] {
		if lower := bounds[i]; lower >= .001 && upper <= 2 && upper > 1.7*lower {
			t.Errorf("bucket %g to %g s is too wide", lower, upper)
		}
	}
	for _, bound := range []float64{.001, 2} {
		if !slices.Contains(bounds, bound) {
			t.Errorf("no bucket ends at %g s", bound)
		}
	}
}

// scrape returns those lines of the metrics of r that start with one of the prefixes.
func scrape(r *prometheus.Registry, prefixes ...string) []string {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
