package queueapi

import (
	"regexp"
	"strings"
)

// Reason is a row in the list of causes why pods wait: a cause, its remedy, and a pattern by which
// the cause is recognized. The cause and the remedy are shown as one sentence: "CAUSE: REMEDY".
type Reason struct {
	Name   string // short name
	Cause  string // $1, $2, … stand for the texts that the capturing groups in the field `pattern` match
	Remedy string

	pattern *regexp.Regexp // matches messages that have this cause
}

// Advice is the cause and the remedy of a Reason, with the texts for one particular pod filled in.
type Advice struct {
	Cause  string `json:"cause"`
	Remedy string `json:"remedy"`
}

// String returns the cause and the remedy as one sentence.
func (a Advice) String() string { return a.Cause + ": " + a.Remedy }

// Reasons returns the causes that can be recognized in messages about waiting pods. The messages
// come from the queue, from Numalet's filters and quotas, and from kube-scheduler's filters. Each
// cause has a pattern, and a message may match several patterns. The page why-a-pod-waits.md of the
// documentation lists all causes.
func Reasons() []Reason {
	row := func(name, pattern, cause, remedy string) Reason {
		return Reason{Name: name, Cause: cause, Remedy: remedy, pattern: regexp.MustCompile(pattern)}
	}
	return []Reason{
		row("too large for any node", `larger than any node: (.*?) \(largest (.*?)\)`, `the pod requests $1, and the largest node has $2`, `request less, or ask for a larger node`),
		row("resources in use", `Insufficient (cpu|memory|ephemeral-storage|pods|[a-z0-9.-]+/[A-Za-z0-9._-]+)\b`, `too little $1 is free on a node that suits otherwise`, `wait until pods end, request less, or add a node`),
		row("exclusive CPUs in use", `Insufficient exclusive CPUs`, `too few exclusive CPUs are free`, `wait until pods with exclusive CPUs end, or request fewer`),
		row("no NUMA node is large enough", `had no NUMA node with enough exclusive CPUs(?: and (?:memory|GPUs))?`, `no NUMA node has room for a whole container (policy single)`, `request fewer CPUs for each container, or use the policy spread or random`),
		row("not evenly spread", `couldn't spread the exclusive CPUs`, `a NUMA node cannot give its even share (policy spread)`, `request fewer CPUs, or use the policy random`),
		row("no agent", `had no exclusive CPUs`, `the node's agent is not ready, or publishes no exclusive CPUs`, `ask an administrator to check kubectl get nodetopologies and the DaemonSet numalet`),
		row("no shared CPU would remain", `no CPU left for shared containers`, `the pod would take the last shared CPU`, `request one CPU less, or reserve CPUs for the system`),
		row("rejected by its node", `rejected the placement of a pod of the same owner`, `the node could not honour the placement of an earlier pod of the same owner`, `wait some minutes: the node is tried again later`),
		row("group full", `Insufficient GPUs: too few of .*(?:group|GPUs)`, `too few GPUs of the pod's GPU groups are free on one node`, `wait until pods of the group end, or ask for a larger group`),
		row("GPUs in use, or an unknown type", `Insufficient GPUs(?:[,.;]|$)|no node has (?:any|more)`, `too few GPUs of the requested type or group are free; if a GPU group lists a node, GPUs that the node's agent has not reported are not free`, `check the type in the annotation numalet.dev/gpu-type against kubectl numalet top and kubectl get nodetopologies, wait until pods end, or ask an administrator whether all GPUs are healthy`),
		row("quota", `(?:tenant \S+, [^:]*): .* requested, but (?:.* in use and )?the limit is ([^:;,]+)`, `the quota of the tenant is used up (limit $1)`, `request less, ask an administrator for a higher quota, or wait until other pods of the tenant end`),
		row("no node selected", `didn't match Pod's node affinity/selector`, `no node has the labels that the pod's nodeSelector or node affinity requires`, `correct the nodeSelector, or label a node`),
		row("candidate nodes", `not among the pod's candidates`, `the annotation numalet.dev/candidate-nodes, or the pod's GPU group, leaves this node out`, `name more nodes, or another group`),
		row("taint", `had untolerated taint`, `nodes have taints that the pod does not tolerate`, `add a toleration, or use other nodes`),
		row("cordoned node", `were unschedulable`, `nodes are cordoned`, `ask an administrator to run kubectl uncordon NODE`),
		row("required neighbour missing", `didn't match pod affinity rules`, `no node runs the pods that the pod's affinity requires`, `create these pods first, or make the affinity a preference`),
		row("unwanted neighbour", `didn't (?:match pod anti-affinity|satisfy existing pods anti-affinity) rules`, `an anti-affinity rule keeps the pod from every other node`, `wait until these pods end, or make the anti-affinity a preference`),
		row("topology spread", `didn't match pod topology spread constraints`, `the pod's topology spread constraints allow no node with room`, `use whenUnsatisfiable: ScheduleAnyway, or make room in the zones with fewest pods`),
		row("port in use", `didn't have free ports`, `its host port is in use`, `use another hostPort, or none`),
		row("missing volume claim", `persistentvolumeclaim "([^"]+)" not found`, `the PersistentVolumeClaim $1 does not exist`, `create it in the namespace of the pod`),
		row("unbound volume claim", `unbound immediate PersistentVolumeClaims|didn't find available persistent volumes`, `a PersistentVolumeClaim is not bound`, `create a volume for it, or check its StorageClass with kubectl describe pvc`),
		row("volume in another place", `had volume node affinity conflict`, `the pod's volume is on other nodes`, `wait for room on these nodes`),
		row("missing resource claim", `could not find ResourceClaim|resourceclaim "[^"]+" not found|waiting for (?:the )?(?:dynamic )?resource ?claim`, `a ResourceClaim of the pod does not exist`, `create it, or check spec.resourceClaims of the pod`),
		row("devices of a claim in use", `cannot allocate all claims`, `no node has the devices that the pod's ResourceClaims request`, `wait until other claims are released, or request other devices`),
		row("group not usable", `GPU group "([^"]+)"`, `the GPU group $1 does not serve the pod`, `check kubectl numalet groups, or use another group`),
		row("unknown tenant", `tenant "?([^" ,]+)"? (?:does not exist|is unknown)|there is no Tenant "?([^" ,]+)"?`, `the tenant $1$2 does not exist`, `ask an administrator to create the Tenant, or label the namespace with another one`),
		row("gang incomplete", `its gang is incomplete: at least (\d+) more`, `the pod's gang lacks $1 or more pods`, `create them, or lower the annotation numalet.dev/gang-min-available`),
		row("gang too big", `too few nodes have room for (\d+) pods of (?:its gang|gang \S+?)[, ]`, `too few nodes have room for $1 pods of the gang together`, `wait until pods end, or lower the annotation numalet.dev/gang-min-available`),
		row("room reserved for another pod", `had room only where a reservation keeps it`, `a node has room, but it is reserved for a pod that comes first`, `wait until that pod is placed, or request less`),
		row("behind an unschedulable pod", `it waits behind (\S+|a pod of tenant \S+), which fits no node`, `$1 comes first, and fits no node yet`, `wait: a node is reserved for it soon, and other pods may use what is left`),
		row("others come first", `it waits for its turn`, `pods of tenants that used less, or of higher priority, come first`, `wait for its turn`),
		row("wrong request", `remove (?:it|the annotation)|want how many pods|set both or none|want the name of a model|allowed is|name fewer|request less$`, `the pod has a request that no node can satisfy, or that is not valid`, `correct the pod as the message says, and create it again`),
	}
}

// Advise returns the causes why a pod waits, each with its remedy. A cause is included if the
// message about the pod matches the pattern of the cause.
func Advise(message string) []Advice {
	var all []Advice
	for _, r := range Reasons() {
		found := r.pattern.FindStringSubmatchIndex(message)
		if found == nil {
			continue
		}
		cause := string(r.pattern.ExpandString(nil, r.Cause, message, found))
		all = append(all, Advice{strings.Join(strings.Fields(cause), " "), r.Remedy})
	}
	return all
}
