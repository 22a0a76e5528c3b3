package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/jobs"
	"github.com/numalet/numalet/internal/controller/tenants"
)

// relistTenantsAfter is how long openLedger waits after it failed to list the Tenants, before it
// tries again.
const relistTenantsAfter = time.Second

// openLedger restores the tenants' accounts (usage and scores) from the statuses of the Tenant
// objects. The state of the nodes must be complete before the call, because the ledger charges
// tenants for the pods that run now.
//
// If the Tenants cannot be listed, openLedger logs the error and lists them again, as
// mirror.Newest.CatchUp does with the bound pods. It returns an error if ctx is done, or if this
// process has no permission to list Tenants.
func (c *controller) openLedger(ctx context.Context) error {
	var stored v1alpha1.TenantList
	err := wait.PollUntilContextCancel(ctx, relistTenantsAfter, true, func(ctx context.Context) (listed bool, err error) {
		err = c.clients.tenants.List(ctx, &stored)
		if err == nil || ctx.Err() != nil || apierrors.IsForbidden(err) {
			return true, err
		}
		c.log.Error(err, "the tenants could not be listed (is deploy/crds installed?); they are listed again", "after", relistTenantsAfter.String())
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("list tenants: %w", err)
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
