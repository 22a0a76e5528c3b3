// Package telemetry has what all programs need for observability: the logger, the
// registry of metrics, the HTTP server of health and metrics, and the version.
//
// Log levels: V(0) facts an operator wants, V(2) decisions, V(4) internals,
// V(6) debug; Error only when the flow fails. Metrics start with numalet_.
package telemetry
