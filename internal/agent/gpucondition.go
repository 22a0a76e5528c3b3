package agent

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/pkg/gpu"
)

// gpuCondition keeps the condition NumaletGPUUnhealthy of the Node up to date. Clients that do not
// know the NodeTopology, such as programs that repair or replace nodes, read conditions of the Node.
type gpuCondition struct {
	known func() *gpu.Inventory
	set   func(context.Context, *corev1.NodeCondition) error // sets the condition, or removes it if the parameter is nil
	// firstAfter is how long `run` waits for the first inventory, the list of the node's GPUs. During
	// this time, the condition stays as an earlier process of the agent has set it. Without the wait,
	// each restart of the agent would remove the condition for a moment.
	firstAfter time.Duration
	wake       chan struct{}
}

// newGPUCondition sets a.gpuHealth. The agent needs a.gpuHealth even if Numalet assigns no GPUs on
// this node: a former process of the agent may have set the condition, and this process must then
// remove it.
func (a *agent) newGPUCondition() {
	a.gpuHealth = &gpuCondition{
		known: func() *gpu.Inventory { return &gpu.Inventory{} },
		set: func(ctx context.Context, want *corev1.NodeCondition) error {
			ctx, cancel := context.WithTimeout(ctx, labelTimeout)
			defer cancel()
			return nodeapi.SetNodeCondition(ctx, a.client, a.cfg.NodeName, v1alpha1.NodeConditionGPUUnhealthy, want, time.Now())
		},
		wake: make(chan struct{}, 1),
	}
	if a.gpus != nil {
		a.gpuHealth.known, a.gpuHealth.firstAfter = a.gpus.latest, gpufeed.DefaultTimeout
	}
}

// notify makes the method `run` compare the condition with the GPUs. It is called when the agent
// has received a new inventory, and does not block.
func (c *gpuCondition) notify() {
	select {
	case c.wake <- struct{}{}:
	default: // a comparison is already requested
	}
}

// run sets the condition whenever the health of the GPUs has changed, until ctx ends. At intervals
// of checkLabelEvery, it corrects the condition if another client has changed or removed it. On a
// node without GPUs, it removes the condition if the Node has it, and makes no checks at
// intervals. After a failure, it tries again.
func (c *gpuCondition) run(ctx context.Context) error {
	failed := ""
	for next := time.After(c.firstAfter); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-next:
		}
		want := gpuUnhealthy(gpusHealthy(c.known()))
		err := c.set(ctx, want)
		switch {
		case err != nil:
			if err.Error() != failed && ctx.Err() == nil {
				logr.FromContextOrDiscard(ctx).Error(err, "cannot report the health of the GPUs as a condition of the Node; retrying")
			}
			failed, next = err.Error(), time.After(retryEvery)
		case want != nil:
			failed, next = "", time.After(checkLabelEvery)
		default:
			failed, next = "", nil
		}
	}
}
