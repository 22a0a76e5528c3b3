// Package jobplan knows what comes next for a job of several pods: which pods to
// make and which to delete, how often one may fail, and what to say of the whole.
//
// It sees a job as it was asked for, what is remembered of it and the pods that
// there are, and answers with what to do and what to remember. It refuses to do
// it, and to know what a pod is made of.
//
//	plan := batch.Next(job, remembered, pods, now)
package jobplan
