package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
)

// untaint removes the startup taint numalet.dev/agent-not-ready from the node when the agent is
// ready. If the kubelet registers the node again later, and so adds the taint again, untaint
// removes it again. untaint never adds the taint. A node whose agent is down for a moment does not
// need the taint. Running pods continue, and a containerd that requires the agent refuses new
// containers while the agent is down.
func (a *agent) untaint(ctx context.Context) error {
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	failed := ""
	for next := time.Now(); ; {
		if !time.Now().Before(next) && a.startedUp() == nil {
			removed, err := a.removeTaint(ctx)
			switch {
			case err == nil:
				next = time.Now().Add(checkLabelEvery)
			case err.Error() != failed && ctx.Err() == nil:
				a.log.Info("cannot remove the startup taint of the node; retrying", "err", err.Error())
			}
			if removed {
				a.log.Info("removed the startup taint of the node", "taint", v1alpha1.TaintAgentNotReady)
			}
			failed = fmt.Sprint(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *agent) removeTaint(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, labelTimeout)
	defer cancel()
	return nodeapi.RemoveStartupTaint(ctx, a.client, a.cfg.NodeName)
}

// startedUp returns nil if pods may start on the node, and otherwise the reason why not. There are
// several possible reasons. For example, the agent may not be connected to the container runtime
// yet, or may not know the pods of the node yet. Or the NodeTopology may not be published yet.
func (a *agent) startedUp() error {
	if a.marked.Load() == nil {
		return fmt.Errorf("the agent has not decided yet if the node gets the label %s", v1alpha1.LabelExclusiveCPUs)
	}
	if missing, err := a.unserved(); missing != nil {
		return err
	}
	for _, check := range a.readiness {
		if err := check.Ready(); err != nil {
			return fmt.Errorf("%s: %w", check.Name, err)
		}
	}
	if a.cluster != nil && !a.cluster.topology.Published(a.ready()) {
		return fmt.Errorf("the NodeTopology is not published yet")
	}
	return nil
}
