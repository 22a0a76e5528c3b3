package agent

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/agent/nri"
	"github.com/numalet/numalet/internal/platform/config"
)

const (
	// markEvery is how often the label is compared with what is served.
	markEvery = time.Second
	// unservedAfter is how long the runtime may be away before pods that ask
	// are sent elsewhere: agents and runtimes restart.
	unservedAfter = 2 * time.Minute
	// withdrawTimeout bounds the attempt of an agent that cannot start.
	withdrawTimeout = 5 * time.Second
)

// mark labels the node while exclusive CPUs are served on it, so that pods
// that ask come here, and takes the label off when they are not: without NRI
// nothing else keeps such a pod from running unpinned.
func (a *agent) mark(ctx context.Context) error {
	look := time.NewTicker(markEvery)
	defer look.Stop()
	var labelled *bool // nil: as it was found
	for served := time.Now(); ; {
		ready := a.runtime.Ready()
		if ready == nil {
			served = time.Now()
		}
		want, certain := a.serves(ready, time.Since(served))
		if certain && (labelled == nil || *labelled != want) {
			a.label(ctx, want)
			labelled = &want
			a.marked.Store(&want)
			a.cluster.poke()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// serves reports whether pods that ask can be served, and whether that is
// certain: the runtime may be away for a moment.
func (a *agent) serves(ready error, unserved time.Duration) (yes, certain bool) {
	switch {
	case !a.cfg.ExclusiveCPUs, errors.Is(ready, nri.ErrUnsupported), unserved >= unservedAfter:
		return false, true
	case ready == nil:
		return true, true
	}
	return false, false
}

// label tries until the API server has taken it, or ctx ends.
func (a *agent) label(ctx context.Context, served bool) {
	set := map[bool]func(context.Context, kubernetes.Interface, string) error{true: nodeapi.MarkNode, false: nodeapi.UnmarkNode}[served]
	for {
		err := set(ctx, a.client, a.cfg.NodeName)
		if err == nil || ctx.Err() != nil {
			return
		}
		a.log.Error(err, "trying again")
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
}

// withdraw takes the label, which an earlier start may have left, off a node
// whose agent cannot start. It tries once: the kubelet starts the agent again.
func withdraw(ctx context.Context, cfg config.Agent, log logr.Logger) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	client, err := nodeapi.NewClient(cfg.Kubeconfig)
	if err == nil {
		err = nodeapi.UnmarkNode(ctx, client, cfg.NodeName)
	}
	if err != nil {
		log.Error(err, "pods that ask may still be sent to this node")
	}
}
