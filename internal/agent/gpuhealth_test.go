package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/gpu"
)

// inventory returns an inventory with one GPU for each value of health.
func inventory(health ...gpu.Health) *gpu.Inventory {
	v := &gpu.Inventory{}
	for i, h := range health {
		v.GPUs = append(v.GPUs, gpu.GPU{UUID: fmt.Sprintf("GPU-%d", i), Index: i, Model: "NVIDIA H100", Health: h})
	}
	return v
}

func TestGPUsHealthy(t *testing.T) {
	ok, unknown, sick := gpu.Health{State: gpu.Healthy}, gpu.Health{Reason: "no updates"}, gpu.Health{State: gpu.Unhealthy, Reason: "Xid 79; reboot the node"}
	many := make([]gpu.Health, maxListed+3)
	for i := range many {
		many[i] = sick
	}
	for name, tc := range map[string]struct {
		health []gpu.Health
		want   string                 // status, reason and the end of the message of the condition; "" for no condition
		node   corev1.ConditionStatus // status of the condition of the Node, which has the same reason and message
	}{
		"no GPUs":                 {nil, "", ""},
		"healthy":                 {[]gpu.Health{ok, ok}, "True Healthy all GPUs of the node are healthy", "False"},
		"not monitored":           {[]gpu.Health{ok, unknown}, "Unknown NotMonitored GPU-1: no updates", "Unknown"},
		"unknown without reason":  {[]gpu.Health{{}}, "Unknown NotMonitored GPU-0", "Unknown"},
		"unhealthy before others": {[]gpu.Health{unknown, sick}, "False Unhealthy GPU-1: Xid 79; reboot the node", "True"},
		"many":                    {many, "and 3 more", "True"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			conditions := gpusHealthy(inventory(tc.health...))
			for _, c := range conditions {
				got += fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
			}
			if !strings.HasSuffix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("condition %q, want %q", got, tc.want)
			}
			var want *corev1.NodeCondition
			if tc.node != "" {
				want = &corev1.NodeCondition{Type: "NumaletGPUUnhealthy", Status: tc.node, Reason: conditions[0].Reason, Message: conditions[0].Message}
			}
			if diff := cmp.Diff(want, gpuUnhealthy(conditions)); diff != "" {
				t.Errorf("condition of the Node (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGPUEvents checks that the agent writes one event each time that a GPU becomes unhealthy,
// and writes no other events.
func TestGPUEvents(t *testing.T) {
	ok, sick, sicker := gpu.Health{State: gpu.Healthy}, gpu.Health{State: gpu.Unhealthy, Reason: "Xid 95"}, gpu.Health{State: gpu.Unhealthy, Reason: "Xid 95, Xid 79"}
	g, got := &gpus{}, []string{}
	for _, health := range [][]gpu.Health{{ok, ok}, {sick, ok}, {sicker, ok}, {sicker, sick}, {ok, sick}, {sick, sick}} {
		g.report(inventory(health...), func(message string) { got = append(got, message) })
	}
	want := []string{
		"GPU GPU-0 (NVIDIA-H100) is unhealthy: Xid 95",
		"GPU GPU-1 (NVIDIA-H100) is unhealthy: Xid 95",
		"GPU GPU-0 (NVIDIA-H100) is unhealthy: Xid 95",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
