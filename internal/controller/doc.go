// Package controller creates the parts of the cluster-side controller, connects them and runs them.
package controller
