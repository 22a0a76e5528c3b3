// Package controller is the cluster-side controller as a whole: it puts its
// parts together and runs them.
package controller
