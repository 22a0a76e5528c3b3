package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/internal/controller/operators"
)

// run runs all parts of the controller until ctx is done, a part fails, or the leader's lease is
// lost. Scheduling ends first. The other parts end later, so that Bindings in progress can be
// finished.
func (c *controller) run(ctx context.Context) error {
	return c.runWith(ctx, c.health.Run, c.metrics.Run, c.answer)
}

// runWith does the same as the method `run`, but its parameters are the functions that run the
// servers. Some tests pass no servers.
func (c *controller) runWith(ctx context.Context, servers ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(logr.NewContext(ctx, c.log))
	defer stop()
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	parts := append(servers, c.confinement.Run, c.report, c.watch, c.lookAgain, c.rescore, c.operate, c.reportWaiting, c.starts.run, c.runGroups, c.tendReservations, c.checkHeartbeats)
	errs := make([]error, len(parts)+1)
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			if errs[i] = part(serving); errs[i] != nil {
				stop()
			}
		})
	}
	errs[len(parts)] = c.elect(ctx)
	end()
	wg.Wait()
	return errors.Join(errs...)
}

// report writes events and conditions of pods from the time when this process becomes the leader.
// Before that, another replica leads and writes them.
func (c *controller) report(ctx context.Context) error {
	select {
	case <-c.leads:
	case <-ctx.Done():
	}
	return c.reporter.Run(ctx)
}

// operate runs the operators of the custom resources (Jobs and Tenants) from the time when this
// process becomes the leader.
func (c *controller) operate(ctx context.Context) error {
	select {
	case <-c.leads:
	case <-ctx.Done():
		return nil
	}
	if c.clients.operators == nil {
		return nil
	}
	return operators.Run(ctx, c.clients.operators)
}

// elect takes part in the election of the leader, and schedules pods while this process leads.
func (c *controller) elect(ctx context.Context) error {
	if c.lease == nil {
		if c.complete(ctx) != nil {
			return nil
		}
		return c.schedule(ctx)
	}
	return c.lease.Run(ctx, c.lead)
}

// stateTimeout limits how long a leader waits until its state of the nodes is complete. A replica that
// cannot list all objects would otherwise keep the lease for ever, even if another replica could lead.
// This happens if the replica has another release than the CRDs or the RBAC rules.
const stateTimeout = 5 * time.Minute

// lead schedules pods while this process holds the lease. It returns an error if the state of the nodes
// is not complete after stateTimeout. Then the process ends and releases the lease.
func (c *controller) lead(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	c.log.Info("leading; waiting until the state is complete")
	switch err := c.complete(waiting); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("the state of this leader is not complete after %s, so another replica must lead: %w", stateTimeout, err)
	}
	return c.schedule(ctx)
}

// complete waits until all objects of the informers' initial lists have been handled. If ctx is done
// before that, it returns what is missing.
func (c *controller) complete(ctx context.Context) (missing error) {
	_ = wait.PollUntilContextCancel(ctx, listedPoll, true, func(context.Context) (bool, error) {
		missing = c.listed()
		return missing == nil, nil
	})
	return missing
}

// listedPoll is the interval at which complete calls listed. client-go waits for informers with the
// same interval.
const listedPoll = 100 * time.Millisecond

// watch runs the informers until ctx is done, except those of GPUGroups and Tenants (see
// runGroups).
func (c *controller) watch(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { c.namespaces.Run(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), c.namespaces.HasSynced) {
		wg.Wait()
		return nil
	}
	c.factory.StartWithContext(ctx)
	wg.Go(func() { c.clients.topologies.RunWithContext(ctx) })
	wg.Go(func() { c.rejected.RunWithContext(ctx) })
	wg.Go(func() { c.succeeded.RunWithContext(ctx) })
	wg.Go(func() { c.leases.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		c.state.View() // builds the indexes of all nodes now, and not only when this process begins to lead
		// Most of the heap is garbage that the initial lists have left. Without this call of
		// runtime.GC, Go would collect the garbage only after the heap has grown by GOGC percent.
		// Until then, the controller would take new memory from the kernel, and the first access to
		// each new page would cost a page fault.
		runtime.GC()
	}
	wg.Wait()
	c.factory.Shutdown()
	return nil
}

// schedule places pods until ctx is done. The state of the nodes must be complete (see the method
// complete). Otherwise CPUs that pods hold could appear free.
func (c *controller) schedule(ctx context.Context) error {
	if err := c.newest.CatchUp(ctx, c.clients.metadata, c.state.Holds); err != nil {
		return err
	}
	if err := c.openLedger(ctx); err != nil {
		return err
	}
	close(c.leads)
	c.log.Info("scheduling", "nodes", c.state.View().Len(), "schedulerNames", c.filters.api.Configuration.SchedulerNames())
	if err := c.pipeline.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	c.log.Info("ended; bindings in flight are finished or undone")
	return nil
}

// checkHeartbeatsEvery is the interval at which the controller checks whether the Leases of the
// nodes' agents have expired.
const checkHeartbeatsEvery = 5 * time.Second

func (c *controller) checkHeartbeats(ctx context.Context) error {
	return every(ctx, checkHeartbeatsEvery, c.heartbeats.Check)
}

// listed returns an error until all objects of the informers' initial lists have been handled. The
// readiness probe calls listed. While listed returns an error, the method `schedule` places no
// pods. If the API server does not serve one of the kinds of objects, listed always returns an
// error. For example, Kubernetes before 1.34 does not serve resource.k8s.io/v1.
func (c *controller) listed() error {
	for _, synced := range c.synced {
		if !synced() {
			return errors.New("the API server has not listed them all yet, or has not answered which tenants may use which GPUs (is deploy/crds installed?)")
		}
	}
	done := make(chan struct{})
	close(done) // so WaitForCacheSync does not wait
	var missing []string
	for kind, ok := range c.factory.WaitForCacheSync(done) {
		if !ok {
			missing = append(missing, kind.Elem().Name())
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("the API server has not listed any %s yet (is it older than Kubernetes 1.34?)", strings.Join(missing, ", "))
	}
	return nil
}

// The function `every` calls the function given as `do` at intervals of the given period, until ctx
// is done.
func every(ctx context.Context, period time.Duration, do func()) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			do()
		}
	}
}
