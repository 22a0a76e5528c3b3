package agent

import (
	"fmt"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/foreign"
	"github.com/numalet/numalet/internal/agent/node/metrics"
	"github.com/numalet/numalet/pkg/workload"
)

// EventForeignTime is the reason of an event on a pod. The event says that interrupts, kernel
// threads or other processes used too much time of the pod's exclusive CPUs.
const EventForeignTime = "NumaletForeignTime"

// newForeign creates the monitor of foreign time: the time of exclusive CPUs that interrupts,
// kernel threads and other processes use.
func (a *agent) newForeign() {
	events := warner{a.events, a.pods}
	a.foreign = foreign.New(foreign.Options{
		Proc: os.DirFS(a.cfg.HostProc), Containers: a.exclusive, Held: a.held, Usage: a.cgroups.Usage,
		Threshold: a.cfg.ForeignTimeThreshold / 100, Window: a.cfg.ForeignTimeWindow,
		Warn:    func(pod workload.Pod, message string) { events.Warn(pod, EventForeignTime, message) },
		Changed: a.cluster.notify, Now: time.Now,
	})
}

// exclusive returns the containers that hold exclusive CPUs and that the container runtime lists.
func (a *agent) exclusive() (all []foreign.Container) {
	for _, c := range a.node.Running() {
		all = append(all, foreign.Container{Pod: c.Sandbox.Pod, Name: c.Name, ID: c.ID, Cgroup: c.Cgroup, CPUs: c.CPUs})
	}
	return all
}

// held returns the names of the containers that hold exclusive CPUs, including containers that
// do not run.
func (a *agent) held() (all []foreign.Name) {
	for _, h := range a.node.View().Held {
		all = append(all, foreign.Name{UID: h.Pod.UID, Container: h.Container})
	}
	return all
}

// foreignTimes returns, for each container, the time that interrupts, kernel threads and other
// processes used on the container's exclusive CPUs. The agent exports these times as a metric.
func (a *agent) foreignTimes() (all []metrics.ForeignTime) {
	for _, t := range a.foreign.Totals() {
		bySource := map[string]time.Duration{}
		for _, s := range foreign.Sources() {
			bySource[s.Label] = s.Used(t.Foreign)
		}
		all = append(all, metrics.ForeignTime{Pod: t.Pod, Container: t.Container, BySource: bySource, Measured: t.Exclusive})
	}
	return all
}

// undisturbed returns the condition CPUsUndisturbed of the NodeTopology, the custom resource in
// which the agent describes this node. The parameter `noisy` has the names of the containers with
// too much foreign time: time of their exclusive CPUs that interrupts, kernel threads or other
// processes used.
func undisturbed(noisy []string, percent float64, window time.Duration) metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionCPUsUndisturbed, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
		Reason: "BelowThreshold", Message: fmt.Sprintf("others used less than %g%% of the time of each container's exclusive CPUs within %s", percent, window),
	}
	switch {
	case percent == 0:
		condition.Reason, condition.Message = "NotChecked", "--foreign-time-threshold is 0, so that no container is reported"
	case len(noisy) > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, "ForeignTime"
		condition.Message = fmt.Sprintf("others used %g%% or more of the time of exclusive CPUs within %s: %s; see the events of the pods", percent, window, strings.Join(atMost(noisy, maxListed), ", "))
	}
	return condition
}

// atMost returns all names if there are no more than `limit`. Otherwise it returns the first names,
// and a last element with the number of names that it left out, such as "and 3 more".
func atMost(names []string, limit int) []string {
	if len(names) <= limit {
		return names
	}
	return append(names[:limit:limit], fmt.Sprintf("and %d more", len(names)-limit))
}
