// Package cli is the people's tool, numalet and "kubectl numalet": commands that
// show a machine, a queue and GPU groups, and try out decisions.
package cli
