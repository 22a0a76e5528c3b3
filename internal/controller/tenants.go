package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/jobs"
	"github.com/numalet/numalet/internal/controller/tenants"
)

// wallClock is the time as it is stored, to the microsecond: what is restored then
// comes to the same.
func wallClock() time.Time { return time.Now().Truncate(time.Microsecond) }

// openLedger goes on from the accounts that are stored. The books have to be
// complete: what runs then is all that is charged.
func (c *controller) openLedger(ctx context.Context) error {
	var stored v1alpha1.TenantList
	if err := c.clients.tenants.List(ctx, &stored); err != nil {
		return fmt.Errorf("list tenants (is deploy/crds installed?): %w", err)
	}
	if err := c.ledger.Open(stored.Items); err != nil {
		c.log.Error(err, "these scores are made anew from what runs")
	}
	c.queue.RescoreAll()
	return nil
}

// newOperators makes what carries out Jobs, and what stores what tenants use and learns
// their weights.
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

// rescore reorders the queue now and then until ctx ends: scores change by time
// alone, too.
func (c *controller) rescore(ctx context.Context) error {
	return every(ctx, c.cfg.ScoreInterval, c.queue.RescoreAll)
}
