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
	// markEvery is how often the label is compared with the state of the runtime and of
	// systemd.
	markEvery = time.Second
	// unservedAfter is how long one of them may be disconnected before the label is
	// removed; agents and runtimes restart.
	unservedAfter = 2 * time.Minute
	// checkLabelEvery is how often the label is read: another client may have changed it. A
	// watch would need the right to list all nodes.
	checkLabelEvery = time.Minute
	// labelTimeout bounds the reading of the label, and the attempt of an agent that
	// cannot start to remove it.
	labelTimeout = 5 * time.Second
)

// need is a part without which the node serves no exclusive CPUs.
type need struct {
	reason string // of the condition while it is not ready
	Ready  func() error
}

// unserved returns the first need that is not ready and why, or nil.
func (a *agent) unserved() (*need, error) {
	for i := range a.needs {
		if err := a.needs[i].Ready(); err != nil {
			return &a.needs[i], err
		}
	}
	return nil, nil
}

// mark labels the node while it serves exclusive CPUs, so that pods that request them
// are scheduled here, and removes the label otherwise. Without NRI nothing else
// prevents such a pod from running unpinned.
func (a *agent) mark(ctx context.Context) error {
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	var labelled *bool // nil: not changed yet
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

// serves reports whether the node serves exclusive CPUs, and whether that is certain:
// the runtime or systemd may be disconnected for a moment.
func (a *agent) serves(ready error, unserved time.Duration) (yes, certain bool) {
	switch {
	case !a.cfg.ExclusiveCPUs, errors.Is(ready, nri.ErrUnsupported), errors.Is(ready, kubelet.ErrStaticCPUManager), unserved >= unservedAfter:
		return false, true
	case ready == nil:
		return true, true
	}
	return false, false
}

// labelChanged reports whether another client set or removed the label.
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

// label sets or removes the label. It retries until it succeeds or ctx ends.
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
		case <-time.After(5 * time.Second):
		}
	}
}

// withdraw removes the label of an earlier start from a node whose agent cannot start, and
// reports the reason as an event of the node. It tries once, because the kubelet restarts
// the agent.
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
