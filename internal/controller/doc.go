// Package controller creates the parts of the cluster-side controller, connects and runs
// them.
package controller
