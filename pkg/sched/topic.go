package sched

// Topic names a kind of event in the cluster that may make pods fit, such as a change of a pod with
// the label Key=Value in the namespace Scope. The adapter that makes a pod's Topics also announces
// the events.
type Topic struct{ Scope, Key, Value string }
