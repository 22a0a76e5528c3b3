package agent

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/pkg/gpu"
)

// EventGPUUnhealthy is the reason of a Node's event that one of its GPUs became unhealthy.
const EventGPUUnhealthy = "NumaletGPUUnhealthy"

// maxListed bounds the GPUs that a condition names; the status has all.
const maxListed = 8

// report writes an event for each GPU or MIG slice that has become unhealthy. Only the
// receiver of the inventories calls it.
func (g *gpus) report(now *gpu.Inventory, warn func(message string)) {
	unhealthy := map[string]bool{}
	for _, u := range now.Units() {
		if u.Health.State != gpu.Unhealthy {
			continue
		}
		unhealthy[u.ID] = true
		if !g.unhealthy[u.ID] {
			warn(fmt.Sprintf("GPU %s (%s) is unhealthy: %s", u.ID, u.Type, u.Health.Reason))
		}
	}
	g.unhealthy = unhealthy
}

// gpusChanged acts on a new inventory.
func (a *agent) gpusChanged() {
	a.cluster.notify()
	a.gpus.report(a.gpus.latest(), func(message string) {
		a.events.Warn(nodeapi.NodeRef(a.cfg.NodeName), EventGPUUnhealthy, message)
	})
}

// gpusHealthy returns the condition GPUsHealthy, or none on a node without GPUs.
func gpusHealthy(v *gpu.Inventory) []metav1.Condition {
	units := v.Units()
	if len(units) == 0 {
		return nil
	}
	c := metav1.Condition{
		Type: v1alpha1.ConditionGPUsHealthy, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
		Reason: "Healthy", Message: "all GPUs of the node are healthy",
	}
	if unknown := inState(units, gpu.UnknownState); len(unknown) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotMonitored", listed(unknown)
	}
	if unhealthy := inState(units, gpu.Unhealthy); len(unhealthy) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Unhealthy", listed(unhealthy)
	}
	return []metav1.Condition{c}
}

func inState(units []gpu.Unit, s gpu.State) (all []gpu.Unit) {
	for _, u := range units {
		if u.Health.State == s {
			all = append(all, u)
		}
	}
	return all
}

// listed names the first GPUs and what is wrong with them.
func listed(units []gpu.Unit) string {
	var texts []string
	for i, u := range units {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(units)-maxListed))
			break
		}
		texts = append(texts, strings.TrimSuffix(u.ID+": "+u.Health.Reason, ": "))
	}
	return strings.Join(texts, ". ")
}
