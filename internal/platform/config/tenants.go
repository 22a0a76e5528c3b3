package config

import "fmt"

// UnknownTenants says what happens to the pods of a tenant for which there is no Tenant object.
type UnknownTenants string

const (
	// WaitIfAny makes the pods of a tenant without a Tenant object wait if the cluster has any
	// Tenant object. Without any Tenant object, no tenant has quotas or weights, so all tenants
	// are equal and their pods need not wait.
	WaitIfAny       UnknownTenants = "auto"
	WaitAlways      UnknownTenants = "wait"
	ScheduleUnknown UnknownTenants = "schedule"
)

// MarshalText returns the value of the setting.
func (u UnknownTenants) MarshalText() ([]byte, error) { return []byte(u), nil }

// UnmarshalText parses the value of the setting.
func (u *UnknownTenants) UnmarshalText(text []byte) error {
	switch v := UnknownTenants(text); v {
	case WaitIfAny, WaitAlways, ScheduleUnknown:
		*u = v
		return nil
	}
	return fmt.Errorf("%q: want auto, wait or schedule", text)
}
