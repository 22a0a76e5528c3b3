package agent

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/agent/nri"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/internal/platform/config"
)

const (
	// markEvery is the time between two checks whether everything in agent.needs is ready, such as
	// the container runtime and systemd.
	markEvery = time.Second
	// unservedAfter is how long the container runtime or systemd may be disconnected before the
	// agent removes the label numalet.dev/exclusive-cpus. A restart of the agent or of the runtime
	// takes less time.
	unservedAfter = 2 * time.Minute
	// checkLabelEvery is the time between two reads of the label numalet.dev/exclusive-cpus, which
	// another client may have changed. The agent does not watch its Node, because it would need the
	// right to list all Nodes.
	checkLabelEvery = time.Minute
	// labelTimeout is the timeout for reading the label numalet.dev/exclusive-cpus, and for
	// removing the startup taint numalet.dev/agent-not-ready, which new nodes may have until the
	// agent is ready. When the agent cannot start, it is also the timeout for removing the label.
	labelTimeout = 5 * time.Second
)

// need is something that must be ready before the node can run containers with exclusive CPUs, such
// as the container runtime.
type need struct {
	reason string // the reason of the NodeTopology's condition Ready while this need is not ready
	Ready  func() error
}

// unserved returns the first of a.needs that is not ready, and the error that says why. It returns
// nil if all of a.needs are ready.
func (a *agent) unserved() (*need, error) {
	for i := range a.needs {
		if err := a.needs[i].Ready(); err != nil {
			return &a.needs[i], err
		}
	}
	return nil, nil
}

// mark sets the label numalet.dev/exclusive-cpus while the node can run containers with exclusive
// CPUs, and removes the label otherwise. No pod that requests exclusive CPUs is scheduled to a node
// without the label. On a node without NRI, nothing else prevents a pod that requests exclusive
// CPUs from running unpinned.
func (a *agent) mark(ctx context.Context) error {
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	var labelled *bool // true after the agent has set the label, false after it has removed the label, nil if the label must be written
	for served, checked := time.Now(), time.Now(); ; {
		_, ready := a.unserved()
		if ready == nil {
			served = time.Now()
		}
		if labelled != nil && time.Since(checked) >= checkLabelEvery {
			checked = time.Now()
			if a.labelChanged(ctx, *labelled) {
				labelled = nil
			}
		}
		want, certain := a.serves(ready, time.Since(served))
		if certain && (labelled == nil || *labelled != want) {
			a.label(ctx, want)
			labelled = &want
			a.marked.Store(&want)
			a.cluster.notify()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// serves reports whether the node can run containers with exclusive CPUs. The parameter `ready` is
// the error of the first element of a.needs that is not ready, or nil if all are ready. The
// parameter `unserved` is the time since all were last ready. The result `certain` is false if an
// element is not ready but may become ready by itself, and `unserved` is less than unservedAfter.
// The caller must not change the label yet in this case.
func (a *agent) serves(ready error, unserved time.Duration) (yes, certain bool) {
	switch {
	case !a.cfg.ExclusiveCPUs, errors.Is(ready, nri.ErrUnsupported), errors.Is(ready, kubelet.ErrStaticCPUManager), unserved >= unservedAfter:
		return false, true
	case ready == nil:
		return true, true
	}
	return false, false
}

// labelChanged reports whether another client set or removed the label numalet.dev/exclusive-cpus
// of the node. The parameter `labelled` is what the agent itself did last: true if it set the
// label, and false if it removed the label.
func (a *agent) labelChanged(ctx context.Context, labelled bool) bool {
	ctx, cancel := context.WithTimeout(ctx, labelTimeout)
	defer cancel()
	now, err := nodeapi.NodeMarked(ctx, a.client, a.cfg.NodeName)
	if err != nil {
		a.log.V(2).Info("cannot read the label of the node", "err", err.Error())
		return false
	}
	if now != labelled {
		a.log.Info("another client changed the label of the node; restoring it", "label", v1alpha1.LabelExclusiveCPUs, "set", labelled)
	}
	return now != labelled
}

// label sets or removes the label numalet.dev/exclusive-cpus of the node. It retries until it
// succeeds or ctx ends.
func (a *agent) label(ctx context.Context, served bool) {
	set := map[bool]func(context.Context, kubernetes.Interface, string) error{true: nodeapi.MarkNode, false: nodeapi.UnmarkNode}[served]
	for {
		err := set(ctx, a.client, a.cfg.NodeName)
		if err == nil || ctx.Err() != nil {
			return
		}
		a.log.Error(err, "cannot update the label of the node; retrying")
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryEvery):
		}
	}
}

// withdraw is called when the agent cannot start. It removes the label numalet.dev/exclusive-cpus,
// which an earlier process of the agent may have set, and writes the reason as an event on the
// Node. It tries only once, because the kubelet restarts the agent anyway.
func withdraw(ctx context.Context, cfg config.Agent, log logr.Logger, reason error) {
	ctx, cancel := context.WithTimeout(ctx, labelTimeout)
	defer cancel()
	client, err := nodeapi.NewClient(cfg.Kubeconfig)
	if err == nil {
		err = nodeapi.UnmarkNode(ctx, client, cfg.NodeName)
	}
	if err != nil {
		log.Error(err, "cannot remove the label of the node; pods that request exclusive CPUs may still be scheduled to it")
		return
	}
	if err := nodeapi.WarnNode(ctx, client, cfg.NodeName, EventNodeConfig, "numalet-agent cannot start: "+reason.Error(), time.Now()); err != nil {
		log.Error(err, "cannot report why the agent does not start")
	}
}
