package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/jobs"
	"github.com/numalet/numalet/internal/controller/tenants"
)

// openLedger restores the stored accounts of the tenants. The state of the nodes must be complete,
// because the ledger charges tenants for the pods that run now.
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

// newOperators adds the reconcilers of Jobs and Tenants to the manager. The reconciler of Tenants
// stores the tenants' accounts, and sets their weights.
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

// rescore reorders the queue at intervals until ctx ends, because scores decay with time. It also
// drops tenants whose score has become negligible.
func (c *controller) rescore(ctx context.Context) error {
	return every(ctx, c.cfg.ScoreInterval, func() {
		c.ledger.Prune()
		c.queue.RescoreAll()
	})
}
