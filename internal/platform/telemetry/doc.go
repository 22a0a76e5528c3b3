// Package telemetry has what all programs need for observability: the logger, the
// registry of metrics, the HTTP server of health checks and metrics, and the program's
// version.
//
// Messages have these levels: V(0) for facts that an administrator wants to see, V(2)
// for decisions, V(4) for internals, and V(6) for debugging. Error is only for
// operations that fail. The names of metrics start with numalet_.
package telemetry
