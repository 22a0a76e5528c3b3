package sched

// Topic names something that happens in the cluster and that may make pods fit, such as a
// change of a pod with the label Key=Value in the namespace Scope. The adapter of the
// filters that defines topics also announces what happens to them.
type Topic struct{ Scope, Key, Value string }
