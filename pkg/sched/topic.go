package sched

// Topic names a kind of event in the cluster after which pods may fit nodes, such as a change of a
// pod with the label Key=Value in the namespace Scope. The adapter (the code that makes a Pod from
// a Kubernetes pod) sets a pod's Topics, and also announces the events.
type Topic struct{ Scope, Key, Value string }
