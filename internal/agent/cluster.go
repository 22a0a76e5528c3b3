package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/node"
	"github.com/numalet/numalet/internal/agent/node/metrics"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/pkg/workload"
)

// cluster is the part of the agent that works with numalet-controller, Numalet's scheduler. It
// publishes the NodeTopology of this node: it sends the status of this custom resource, which
// numalet-controller reads, to the API server. The field agent.cluster is nil if Numalet runs
// without numalet-controller.
type cluster struct {
	topology *nodeapi.Topology
	rejecter *nodeapi.Rejecter
	groups   *nodeapi.Groups
	alive    *nodeapi.Heartbeat
}

// newCluster sets a.cluster if --controller is set.
func (a *agent) newCluster() error {
	if !a.cfg.Controller {
		return nil
	}
	resources, err := nodeapi.NewResources(a.cfg.Kubeconfig)
	if err != nil {
		return err
	}
	topology, err := nodeapi.NewTopology(nodeapi.TopologySource{
		Client: a.client, Resources: resources, Node: a.cfg.NodeName, Status: a.status,
	})
	if err != nil {
		return err
	}
	groups, err := nodeapi.NewGroups(resources)
	if err != nil {
		return err
	}
	a.cluster = &cluster{topology: topology, rejecter: nodeapi.NewRejecter(a.client, time.Now), groups: groups,
		alive: nodeapi.NewHeartbeat(a.client, a.cfg.NodeName, a.cfg.LeaseNS)}
	return nil
}

// parts returns the functions that must run as long as the agent runs. The method agent.run calls
// each of them in a goroutine.
func (c *cluster) parts() []func(context.Context) error {
	if c == nil {
		return nil
	}
	return []func(context.Context) error{c.topology.Run, c.rejecter.Run, c.groups.Run, c.alive.Run}
}

// Reject sets a pod's phase to Failed. The agent calls it if this node cannot give the pod the CPUs
// and GPUs that numalet-controller chose and wrote into the annotation numalet.dev/placement.
func (c *cluster) Reject(pod workload.Pod, reason, message string) {
	c.rejecter.Reject(nodeapi.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, reason, message)
}

// changed is called when a pod has changed. If the agent has rejected the pod, but the pod is not
// terminal, the method sets the pod's phase to Failed again.
func (c *cluster) changed(pod *corev1.Pod) {
	if c != nil {
		c.rejecter.Enforce(pod)
	}
}

// notify makes the agent publish the NodeTopology again. It is called when the status of the
// NodeTopology may have changed.
func (c *cluster) notify() {
	if c != nil {
		c.topology.Notify()
	}
}

// notifyingMetrics is the agent's metrics. It also makes the agent publish the NodeTopology again
// each time that package node writes the checkpoint, the file with the grants of exclusive CPUs.
// Package node writes it whenever containers get or lose exclusive CPUs.
type notifyingMetrics struct {
	*metrics.Metrics
	cluster *cluster
}

func (w notifyingMetrics) Saved(took time.Duration) {
	w.Metrics.Saved(took)
	w.cluster.notify()
}

var (
	_ node.Rejecter = (*cluster)(nil)
	_ node.Observer = notifyingMetrics{}
)

// status returns the status of this node's NodeTopology.
func (a *agent) status() v1alpha1.NodeTopologyStatus {
	s := a.node.Report()
	if a.gpus != nil {
		node.ReportGPUs(&s, a.gpus.latest())
		s.GPUHolders = a.holders.latest()
	}
	s.Conditions = []metav1.Condition{a.ready(), a.allUsable(), a.kubelet.condition(), a.reservedCondition(),
		undisturbed(a.foreign.Noisy(), a.cfg.ForeignTimeThreshold, a.cfg.ForeignTimeWindow)}
	if a.gpus != nil {
		s.Conditions = append(s.Conditions, gpusHealthy(a.gpus.latest())...)
	}
	return s
}

// ready returns the condition Ready of the NodeTopology. The condition is true if the node has the
// label numalet.dev/exclusive-cpus, which pods with exclusive CPUs require.
func (a *agent) ready() metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(time.Now()),
	}
	marked := a.marked.Load()
	switch {
	case marked == nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, "Starting", "the agent has not connected to the container runtime yet"
	case *marked:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, "Serving", "the node serves pods that request exclusive CPUs"
	case !a.cfg.ExclusiveCPUs:
		condition.Reason, condition.Message = "SwitchedOff", "exclusive CPUs are disabled on this node (--exclusive-cpus=false)"
	default:
		condition.Reason, condition.Message = "RuntimeNotServed", "the agent is about to label the node"
		if missing, err := a.unserved(); missing != nil {
			condition.Reason, condition.Message = missing.reason, err.Error()
		}
	}
	return condition
}
