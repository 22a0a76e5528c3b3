// Package e2eutil is shared by the end-to-end tests, the soak test and the demo. It has the
// machine of the rig, pods that record their own CPUs, and checks of these records.
package e2eutil
