// Package scrape serves metrics over HTTPS, and only to users whom the API server authenticates and
// authorizes. It is not part of the package telemetry, because programs without a client of the API
// server use that package, too.
//
// The server uses the authorization filter of controller-runtime, which makes the agent's program 8
// MB larger. A filter of 120 lines of our own was tried and rejected: for code that decides who may
// read something, it is better to use what other projects use, too.
package scrape
