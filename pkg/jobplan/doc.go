// Package jobplan plans the next steps of a job of several pods: which pods to create and
// delete, how often pods may fail, and which phase the job is in.
//
// It gets the job's spec, its stored progress and its pods, and returns what to do and
// which progress to store. It does not carry out these steps, and does not know what a pod consists
// of.
//
//	plan := jobplan.Next(job, progress, pods, now)
//
// job.go is the nouns, plan.go decides, failures.go counts failures and back-off, progress.go
// sums up, indexes.go is the text form of sets of pods.
package jobplan
