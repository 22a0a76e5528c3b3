package v1alpha1

import "strings"

// LabelHeartbeat marks a Lease by which the agent of a node shows that it runs: the agent
// renews the Lease again and again. The value of the label is "true".
const LabelHeartbeat = Group + "/heartbeat"

// heartbeatPrefix is the prefix of the names of the agents' Leases. Without the prefix, a Lease
// with the name of a node could collide with another Lease of the namespace.
const heartbeatPrefix = "agent-"

// HeartbeatName returns the name of the Lease that the agent of a node renews.
func HeartbeatName(node string) string { return heartbeatPrefix + node }

// HeartbeatNode returns the node whose agent renews the Lease with the given name. It returns
// false if the name is not that of an agent's Lease.
func HeartbeatNode(lease string) (string, bool) { return strings.CutPrefix(lease, heartbeatPrefix) }
