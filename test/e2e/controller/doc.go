// Package controller tests the built numalet-controller with a real API server and simulated
// nodes. The controller has only the rights of its service account:
//
//	make e2e-controller
package controller
