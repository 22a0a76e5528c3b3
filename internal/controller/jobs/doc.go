// Package jobs is the operator of the custom resource Job, on controller-runtime: it creates
// and deletes the pods, the headless Service and the ConfigMap of a job, and writes the
// job's status.
//
// It knows what a pod of a job consists of and how to carry out a plan. Package jobplan
// decides what to do next.
//
//	err := jobs.Add(manager, "numalet-scheduler")
//
// operator.go sets up the watches, reconcile.go is the steps for one job, state.go reads
// its pods, pod.go, gang.go and rendezvous.go make them, apply.go creates and deletes
// objects, status.go writes the status.
package jobs
