// Package jobs is the operator of custom resource Job, on controller-runtime: it
// makes and deletes the pods, the headless Service and the ConfigMap that a job
// asks for, and writes down in its status how far it is.
//
// It knows what a pod of a job is made of and how to carry a plan out; what is to be
// done next it asks package jobplan.
//
//	err := job.Add(manager, "numalet-scheduler")
package jobs
