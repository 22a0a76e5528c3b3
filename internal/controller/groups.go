package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/groups"
	"github.com/numalet/numalet/internal/controller/mirror"
	"github.com/numalet/numalet/internal/controller/tenants"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// gpuGroups has the registry of accepted GPU groups, the quotas of groups and tenants, and the
// writer of the groups' statuses.
type gpuGroups struct {
	registry *groups.Registry
	quotas   *groups.Quotas
	statuses *groups.StatusWriter
	synced   []cache.InformerSynced
}

// newGroups creates the registry of GPU groups, the quotas, and the set of the tenants that have a
// Tenant object.
func (c *controller) newGroups(context.Context) error {
	g := &c.groups
	c.known = tenants.NewKnown(c.cfg.UnknownTenants)
	g.statuses = groups.NewStatusWriter(c.clients.resources, time.Now)
	g.quotas = groups.NewQuotas(c.state.Visit, c.queue.ReactivateTenant, g.statuses.Notify)
	permissions := groups.NewPermissions(c.clients.watch, time.Now)
	g.registry = groups.NewRegistry(groups.Dependencies{
		Allowed: permissions.Allowed, Authors: permissions, Report: g.statuses.Report, Panicked: c.panicked,
	})
	c.synced = append(c.synced, g.registry.HasSynced)
	return nil
}

// watchGroups connects the informers of NodeTopologies (which list the nodes' GPUs), GPUGroups and
// Tenants to the registry of groups and to the quotas. When a group comes into force, changes or
// ends, pending pods that request GPUs are queued again.
func (c *controller) watchGroups(context.Context) error {
	groups := &c.groups
	groups.registry.OnChange(groups.quotas.SetGroups)
	groups.registry.OnChange(func([]group.Group) { c.mirror.RequeueGPUs() })
	for _, w := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{c.clients.topologies, mirror.Handle(groups.registry.SetNode, groups.registry.RemoveNode)},
		{c.clients.groups, mirror.Handle(groups.setGroup, groups.removeGroup)},
		{c.clients.quotas, mirror.Handle(
			func(tenant *v1alpha1.Tenant) {
				c.setKnown(tenant.Name, true)
				c.setQuotas(tenant.Name, tenant.Spec.Quotas)
			},
			func(tenant *v1alpha1.Tenant) { c.setKnown(tenant.Name, false); c.setQuotas(tenant.Name, nil) })},
	} {
		handled, err := w.informer.AddEventHandler(mirror.Contain(w.handler, c.panicked))
		if err != nil {
			return fmt.Errorf("watch GPU groups: %w", err)
		}
		groups.synced = append(groups.synced, handled.HasSynced)
	}
	return nil
}

func (g *gpuGroups) setGroup(object *v1alpha1.GPUGroup) {
	g.registry.SetGroup(object)
	g.statuses.SetGroup(object)
}

func (g *gpuGroups) removeGroup(object *v1alpha1.GPUGroup) {
	g.registry.RemoveGroup(object)
	g.statuses.RemoveGroup(object)
}

// setQuotas sets a tenant's quotas. If the quotas have changed, setQuotas queues the tenant's
// pending pods again.
func (c *controller) setQuotas(tenant string, quotas map[string]resource.Quantity) {
	if c.groups.quotas.SetTenant(tenant, quotas) {
		c.mirror.RequeueTenant(tenant)
	}
}

// setKnown records whether a tenant has a Tenant object. Depending on the settings, pods of a
// tenant without a Tenant object must wait. So when a Tenant object is created or deleted, some
// pending pods may no longer have to wait, or may have to wait from now on. setKnown queues these
// pods again.
func (c *controller) setKnown(tenant string, exists bool) {
	switch changed, all := c.known.Set(tenant, exists); {
	case all:
		c.mirror.RequeueAll()
	case changed:
		c.mirror.RequeueTenant(tenant)
	}
}

// hasSynced reports whether the registry of groups and the quotas have handled the initial lists of
// their informers.
func (g *gpuGroups) hasSynced() bool {
	for _, synced := range g.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// runGroups runs the registry of GPU groups, and the informers of GPUGroups and Tenants, until ctx
// is done. Once this process leads, it also writes the statuses of the groups.
func (c *controller) runGroups(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, informer := range []cache.SharedIndexInformer{c.clients.groups, c.clients.quotas} {
		wg.Go(func() { informer.RunWithContext(ctx) })
	}
	wg.Go(func() {
		select {
		case <-c.leads:
			c.groups.statuses.Run(ctx, c.groups.quotas.Holders)
		case <-ctx.Done():
		}
	})
	c.groups.registry.Run(ctx, c.groups.hasSynced)
	wg.Wait()
	return nil
}
