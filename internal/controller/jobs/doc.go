// Package jobs is the operator of Numalet's custom resource Job, based on controller-runtime. For
// each job it creates and deletes pods, a headless Service and a ConfigMap. It also writes the
// status of the job.
//
// Package jobs knows what a pod of a job looks like. It carries out a plan of which pods to create
// and delete. Package jobplan makes this plan.
//
//	err := jobs.Add(manager, "numalet-scheduler")
//
// operator.go sets up the watches. reconcile.go has the steps for one job. state.go reads the job's
// pods. pod.go, gang.go and rendezvous.go define the objects of a job, and apply.go creates and
// deletes these objects. status.go writes the job's status.
package jobs
