// Package e2eutil is what the end-to-end tests, the soak and the demo share: the
// rig's machine, pods that report their own CPUs, and the checks on what they
// reported.
package e2eutil
