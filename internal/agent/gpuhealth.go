package agent

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/pkg/gpu"
)

// EventGPUUnhealthy is the reason of an event on a Node. The event says that one of the node's GPUs
// became unhealthy.
const EventGPUUnhealthy = "NumaletGPUUnhealthy"

// maxListed is the largest number of names in the message of a condition: names of GPUs in the
// condition GPUsHealthy, and names of containers in the condition CPUsUndisturbed. The status of
// the NodeTopology, the custom resource in which the agent describes this node, has the health of
// all GPUs.
const maxListed = 8

// report writes an event for each GPU or MIG slice that has become unhealthy since the last call.
// It is not safe for concurrent use. Only one goroutine calls it: the one that receives
// inventories, the lists of the node's GPUs, from the program numalet-nvml.
func (g *gpus) report(now *gpu.Inventory, warn func(message string)) {
	unhealthy := map[string]bool{}
	for _, unit := range now.Units() {
		if unit.Health.State != gpu.Unhealthy {
			continue
		}
		unhealthy[unit.ID] = true
		if !g.unhealthy[unit.ID] {
			warn(fmt.Sprintf("GPU %s (%s) is unhealthy: %s", unit.ID, unit.Type, unit.Health.Reason))
		}
	}
	g.unhealthy = unhealthy
}

// gpusChanged is called when numalet-nvml has sent a new inventory.
func (a *agent) gpusChanged() {
	a.holders.notify() // before the next line, because the NodeTopology must not have GPUs that seem to be free
	a.cluster.notify()
	a.gpuHealth.notify()
	a.gpus.report(a.gpus.latest(), func(message string) {
		a.events.Warn(nodeapi.NodeRef(a.cfg.NodeName), EventGPUUnhealthy, message)
	})
}

// gpusHealthy returns the condition GPUsHealthy of the NodeTopology. It returns no condition on a
// node without GPUs. gpuUnhealthy makes a condition of the Node from the result.
func gpusHealthy(inventory *gpu.Inventory) []metav1.Condition {
	units := inventory.Units()
	if len(units) == 0 {
		return nil
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionGPUsHealthy, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
		Reason: "Healthy", Message: "all GPUs of the node are healthy",
	}
	if unknown := inState(units, gpu.UnknownState); len(unknown) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, "NotMonitored", listed(unknown)
	}
	if unhealthy := inState(units, gpu.Unhealthy); len(unhealthy) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "Unhealthy", listed(unhealthy)
	}
	return []metav1.Condition{condition}
}

// gpuUnhealthy returns the condition NumaletGPUUnhealthy of the Node. Its status is the opposite of
// the status of the given condition GPUsHealthy of the NodeTopology: False for True, and True for
// False. For Unknown, it is Unknown. gpuUnhealthy returns nil if `healthy` is empty, as on a node
// without GPUs.
func gpuUnhealthy(healthy []metav1.Condition) *corev1.NodeCondition {
	if len(healthy) == 0 {
		return nil
	}
	status := map[metav1.ConditionStatus]corev1.ConditionStatus{
		metav1.ConditionTrue: corev1.ConditionFalse, metav1.ConditionFalse: corev1.ConditionTrue, metav1.ConditionUnknown: corev1.ConditionUnknown,
	}[healthy[0].Status]
	return &corev1.NodeCondition{Type: v1alpha1.NodeConditionGPUUnhealthy, Status: status, Reason: healthy[0].Reason, Message: healthy[0].Message}
}

func inState(units []gpu.Unit, s gpu.State) (all []gpu.Unit) {
	for _, unit := range units {
		if unit.Health.State == s {
			all = append(all, unit)
		}
	}
	return all
}

// listed returns the IDs and faults of the first maxListed of the units, and how many units it left
// out. A unit is a GPU or a MIG slice.
func listed(units []gpu.Unit) string {
	var texts []string
	for i, unit := range units {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(units)-maxListed))
			break
		}
		texts = append(texts, strings.TrimSuffix(unit.ID+": "+unit.Health.Reason, ": "))
	}
	return strings.Join(texts, ". ")
}
