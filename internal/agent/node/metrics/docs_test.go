package metrics

import (
	"testing"
	"time"

	"github.com/numalet/numalet/internal/agent/node"
	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/internal/testutil/docstest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// TestReference checks that the reference page of metrics lists exactly the metrics that the
// agent's collectors export.
func TestReference(t *testing.T) {
	r := telemetry.NewRegistry("numalet-agent", "v0")
	m := New(r)
	m.Hook("CreateContainer", time.Millisecond, nil)
	m.Refused("TooFewCPUs")
	m.Saved(time.Millisecond)
	m.Wrote("shrink", 1, time.Millisecond)
	view := node.View{
		Held: []node.Holding{{CPUs: cpuset.MustParse("1-2")}}, Shared: cpuset.MustParse("0,3"), Available: map[topology.NodeID]int{0: 1},
	}
	r.MustRegister(Holdings{View: func() node.View { return view }})
	r.MustRegister(GPUs{Inventory: func() *gpu.Inventory { return &gpu.Inventory{GPUs: []gpu.GPU{{UUID: "GPU-0"}}} }})
	r.MustRegister(Foreign{Times: func() []ForeignTime { return []ForeignTime{{BySource: map[string]time.Duration{"other": 1}}} }})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	docstest.LintMetrics(t, families)
	const preface = "The agent serves `/metrics` at `--health-addr`, by default on the node's loopback, port 8123, and to authorized users at `--metrics-addr`, if it is set."
	scenario.Golden(t, "../../../../docs/reference/metrics-agent.md", docstest.Metrics("numalet-agent", preface, families))
}
