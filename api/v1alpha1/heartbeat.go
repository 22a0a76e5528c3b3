package v1alpha1

import "strings"

// LabelHeartbeat marks the Lease that the agent of a node renews ("true").
const LabelHeartbeat = Group + "/heartbeat"

// heartbeatPrefix is the prefix of the names of the agents' Leases. Without it, the name of a node
// could be that of another Lease of the namespace.
const heartbeatPrefix = "agent-"

// HeartbeatName returns the name of the Lease that the agent of a node renews.
func HeartbeatName(node string) string { return heartbeatPrefix + node }

// HeartbeatNode returns the node whose agent renews a Lease, and false if no agent does.
func HeartbeatNode(lease string) (string, bool) { return strings.CutPrefix(lease, heartbeatPrefix) }
