// Package telemetry is how a binary is watched: its logger, its metrics, its
// health over HTTP, its version.
//
// Log levels: V(0) facts an operator wants, V(2) decisions, V(4) internals,
// V(6) debug; Error only when the flow fails. Metrics start with numalet_.
package telemetry
