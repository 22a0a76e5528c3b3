// Package controller tests the built numalet-controller on a real API server,
// with nodes that nobody stands behind and its service account's rights only:
//
//	make e2e-controller
package controller
