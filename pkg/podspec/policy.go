package podspec

// Policy selects how a container's CPUs are distributed over the machine's NUMA nodes.
type Policy uint8

// The policies of the annotation numalet.dev/cpu-policy. The zero value is Random, which is also
// the policy of a pod without the annotation.
const (
	Random Policy = iota // no rule; the controller or the agent chooses
	Spread               // evenly over all NUMA nodes with CPUs: the numbers of CPUs on any two NUMA nodes differ by at most 1
	Single               // all on one NUMA node
)

// Kind is the role of a container in its pod's life.
type Kind uint8

// App containers all run at the same time, until the pod ends. An Init container ends before the
// next container starts. Containers that start after it may reuse its CPUs. If two of these
// containers run at the same time, they reuse different CPUs. A Sidecar (an init container with
// restartPolicy Always) runs from its start until the pod ends. It may reuse CPUs of init
// containers that ran before it, but no other container may use its CPUs.
const (
	App Kind = iota
	Init
	Sidecar
)
