// Package e2eutil is shared by the end-to-end tests, the soak test and the demo. It has access to
// the virtual machines of the test cluster (test/cluster), pods that record their own CPUs, and
// checks of these records.
package e2eutil
