package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/jobs"
	"github.com/numalet/numalet/internal/controller/tenants"
)

// openLedger restores the tenants' accounts (usage and scores) from the statuses of the Tenant
// objects. The state of the nodes must be complete before the call, because the ledger charges
// tenants for the pods that run now.
func (c *controller) openLedger(ctx context.Context) error {
	var stored v1alpha1.TenantList
	if err := c.clients.tenants.List(ctx, &stored); err != nil {
		return fmt.Errorf("list tenants (is deploy/crds installed?): %w", err)
	}
	if err := c.ledger.Open(stored.Items); err != nil {
		c.log.Error(err, "these scores are recomputed from the running pods")
	}
	c.queue.RescoreAll()
	return nil
}

// newOperators adds the reconcilers of the custom resources Job and Tenant to the manager of
// controller-runtime. The reconciler of Tenants stores the tenants' accounts, and applies their
// weights.
func (c *controller) newOperators(context.Context) error {
	m := c.clients.operators
	if m == nil {
		return nil
	}
	return errors.Join(
		jobs.Add(m, c.cfg.SchedulerName),
		tenants.Add(m, tenants.Reconciler{Ledger: c.ledger, Every: c.cfg.ScoreInterval, Fence: c.fence}),
	)
}

// rescore sorts the queue again at intervals until ctx is done, because the tenants' scores decay
// with time. It also removes accounts without usage from the ledger once their score is negligible
// (see Ledger.Prune).
func (c *controller) rescore(ctx context.Context) error {
	return every(ctx, c.cfg.ScoreInterval, func() {
		c.ledger.Prune()
		c.queue.RescoreAll()
	})
}
