package tenants

import (
	"fmt"
	"sync"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/platform/config"
)

// Known is the set of tenants that have a Tenant object. Its methods may be called from any
// goroutine.
type Known struct {
	unknown config.UnknownTenants
	mu      struct {
		sync.RWMutex
		names map[string]bool
	}
}

// NewKnown returns a Known without tenants. The parameter `unknown` says whether the pods of tenants
// without a Tenant object have to wait.
func NewKnown(unknown config.UnknownTenants) *Known {
	k := &Known{unknown: unknown}
	k.mu.names = map[string]bool{}
	return k
}

// Set records whether a tenant has a Tenant object. The result `changed` says whether the result of
// Check may have changed for this tenant. The result `all` says whether the result of Check may have
// changed for all other tenants as well. This happens with config.WaitIfAny when the first Tenant
// object is created or the last one is deleted.
func (k *Known) Set(name string, exists bool) (changed, all bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.names[name] == exists {
		return false, false
	}
	some := len(k.mu.names) > 0
	if exists {
		k.mu.names[name] = true
	} else {
		delete(k.mu.names, name)
	}
	return k.unknown != config.ScheduleUnknown, k.unknown == config.WaitIfAny && some != (len(k.mu.names) > 0)
}

// Check returns an error if the pods of a tenant have to wait because the tenant is unknown. The
// error is a message for the author of the pod.
func (k *Known) Check(name string) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.mu.names[name] || k.unknown == config.ScheduleUnknown || k.unknown == config.WaitIfAny && len(k.mu.names) == 0 {
		return nil
	}
	return fmt.Errorf("the tenant %q is unknown: ask an administrator to create a Tenant of this name, or to label the namespace with %s", name, v1alpha1.LabelTenant)
}
