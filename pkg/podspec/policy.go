package podspec

// Policy selects how a container's CPUs are distributed over the machine's NUMA nodes.
type Policy uint8

// The policies of the annotation numalet.dev/cpu-policy. The zero value is Random, which is
// also the policy of a pod that names none.
const (
	Random Policy = iota // the system chooses
	Spread               // evenly over every NUMA node that has CPUs, ±1
	Single               // all on one NUMA node
)

// Kind is the role of a container in its pod's life.
type Kind uint8

// App containers run together to the end; an Init container runs alone before them, so later
// containers may reuse its CPUs, each CPU by only one container. A Sidecar (an init container
// with restartPolicy Always) runs from its start to the end. It may reuse CPUs of init
// containers, but no other container may use its CPUs.
const (
	App Kind = iota
	Init
	Sidecar
)
