// Package e2eutil is shared by the end-to-end tests, the soak test and the demo. It runs commands
// in the virtual machines of the test cluster (test/cluster), makes pods that record their own
// CPUs, and checks these records.
package e2eutil
