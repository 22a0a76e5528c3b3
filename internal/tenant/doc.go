// Package tenant is between the custom resource Tenant and package usage.
//
// It knows how a score is stored, so that it is the same afterwards, and what a
// weight is; it refuses to know when to store, and how scores come about.
package tenant
