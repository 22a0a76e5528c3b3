// Package jobplan plans the next steps of one of Numalet's own jobs (not batch/v1): which pods to
// create and delete, whether the job has failed too often, and which phase it is in.
//
// The function Next gets the job's spec, its stored progress and its pods. It returns what to do
// and which progress to store. The package does not carry out these steps, and does not know the
// specs of the pods.
//
//	plan := jobplan.Next(job, progress, pods, now)
//
// job.go has the types, and plan.go decides on the next steps. failures.go counts failures and
// computes the back-off. stuck.go finds pods that do not terminate. progress.go computes the phase
// and counts pods. indexes.go has sets of pod indexes.
package jobplan
