package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/agent/nri"
)

// podsGrace is how long the agent waits for the node's pods before it serves
// the runtime without them. Pods that do not ask must start even while the API
// server is away; those that ask are refused until it is back.
const podsGrace = 5 * time.Second

// run serves until ctx ends or a part fails; then everything ends.
func (a *agent) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(logr.NewContext(ctx, a.log))
	defer stop()
	parts := []func(context.Context) error{
		a.health.Run, a.pods.Run, a.node.Run, a.settleWhenListed, a.serveRuntime, a.mark, a.watchCPUs,
	}
	parts = append(parts, a.cluster.parts()...)
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			if errs[i] = part(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	wg.Wait()
	a.log.Info("ended; pods stay pinned")
	return errors.Join(errs...)
}

// serveRuntime gives the API server a moment, then answers the runtime. One
// that is not supported it leaves alone, and lives on to say so in /readyz.
func (a *agent) serveRuntime(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, podsGrace)
	defer cancel()
	if err := a.pods.WaitForSync(wait); err != nil && ctx.Err() == nil {
		a.log.Error(err, "serving without: pods that ask for exclusive CPUs are refused until the API server answers")
	}
	err := a.runtime.Run(ctx)
	if !errors.Is(err, nri.ErrUnsupported) {
		return err
	}
	a.log.Error(err, "nothing is pinned on this node, and its label is taken off")
	<-ctx.Done()
	return nil
}

// settleWhenListed does what had to wait for the node's pods.
func (a *agent) settleWhenListed(ctx context.Context) error {
	if err := a.pods.WaitForSync(ctx); err != nil {
		return nil // told to end
	}
	a.node.Settle(ctx)
	return nil
}

func (a *agent) close() {
	a.events.Close()
	a.cgroups.Close()
}
