// Package jobs is the operator of Numalet's custom resource Job, based on controller-runtime. For
// each job it creates and deletes pods, a headless Service and a ConfigMap. It also writes the
// status of the job.
//
// It knows what a pod of a job looks like, and carries out a plan. Package jobplan makes the plan.
//
//	err := jobs.Add(manager, "numalet-scheduler")
//
// operator.go sets up the watches. reconcile.go has the steps for one job. state.go reads its pods.
// pod.go, gang.go and rendezvous.go define the objects, and apply.go creates and deletes them.
// status.go writes the status.
package jobs
