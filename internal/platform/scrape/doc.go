// Package scrape serves metrics over HTTPS, and only to users whom the API server authenticates and
// authorizes. It is not part of the package telemetry, because programs without a client of the API
// server use that package, too.
//
// The package k8s.io/apiserver could authenticate and authorize users as well. It would make the
// agent's program 8 MB larger, most of which the agent does not use.
package scrape
