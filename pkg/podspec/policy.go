package podspec

// Policy says how a container's CPUs fall on the machine's NUMA nodes.
type Policy uint8

// The policies of the annotation numalet.dev/cpu-policy. The zero value is
// Random, which is also what a pod gets that names none.
const (
	Random Policy = iota // the system chooses
	Spread               // evenly over every NUMA node that has CPUs, ±1
	Single               // all on one NUMA node
)

// Kind is the role of a container in its pod's life.
type Kind uint8

// App containers run together to the end; an Init container runs alone before
// them, so what follows it may reuse its CPUs, each by only one container; a
// Sidecar (an init container with restartPolicy Always) runs from its start to
// the end: it may reuse too, but lends to nobody.
const (
	App Kind = iota
	Init
	Sidecar
)
