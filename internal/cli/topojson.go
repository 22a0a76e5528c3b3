package cli

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// machineJSON is the output of "numalet topo -o json". An unknown ID is -1. The ID of a core (core)
// is the smallest ID of its CPUs, and the ID of a last-level cache (llc) is the smallest ID of the
// CPUs that share the cache.
type machineJSON struct {
	CPUs []cpuJSON  `json:"cpus"`
	NUMA []numaJSON `json:"numa"`
	GPUs []gpuJSON  `json:"gpus"`
}

type cpuJSON struct {
	ID       cpuset.CPU      `json:"id"`
	Online   bool            `json:"online"`
	Isolated bool            `json:"isolated,omitempty"`
	Package  int             `json:"package"`
	Die      int             `json:"die"`
	NUMA     topology.NodeID `json:"numa"`
	Core     cpuset.CPU      `json:"core"`
	LLC      cpuset.CPU      `json:"llc"`
	Kind     string          `json:"kind,omitempty"`
}

type numaJSON struct {
	ID          topology.NodeID         `json:"id"`
	CPUs        cpuset.Set              `json:"cpus"`
	MemoryBytes uint64                  `json:"memoryBytes"`
	HugePages   []hugePagesJSON         `json:"hugePages,omitempty"`
	Distances   map[topology.NodeID]int `json:"distances"`
	GPU         string                  `json:"gpu,omitempty"`
}

type hugePagesJSON struct {
	SizeBytes uint64 `json:"sizeBytes"`
	Total     uint64 `json:"total"`
}

func toJSON(machine *topology.Machine, inventory *gpu.Inventory) machineJSON {
	doc := machineJSON{CPUs: []cpuJSON{}, NUMA: []numaJSON{}, GPUs: []gpuJSON{}}
	for _, cpu := range machine.CPUs {
		doc.CPUs = append(doc.CPUs, cpuJSON{
			ID: cpu.ID, Online: cpu.Online, Isolated: cpu.Isolated,
			Package: cpu.Package, Die: cpu.Die, NUMA: cpu.NUMA, Core: cpu.Core, LLC: cpu.LLC,
			Kind: kindJSON(cpu.Kind),
		})
	}
	for _, numaNode := range machine.Nodes {
		doc.NUMA = append(doc.NUMA, nodeJSON(numaNode))
	}
	for _, c := range inventory.GPUs {
		doc.GPUs = append(doc.GPUs, describeGPU(c))
	}
	return doc
}

func nodeJSON(numaNode topology.Node) numaJSON {
	doc := numaJSON{ID: numaNode.ID, CPUs: numaNode.CPUs, MemoryBytes: numaNode.MemoryBytes, Distances: numaNode.Distances, GPU: numaNode.GPU}
	if doc.Distances == nil {
		doc.Distances = map[topology.NodeID]int{}
	}
	for _, pool := range numaNode.HugePages {
		doc.HugePages = append(doc.HugePages, hugePagesJSON(pool))
	}
	return doc
}

// kindJSON returns the kind of a core, such as performance core. For an unknown kind, it returns
// "". On a machine whose cores are all of one kind, the kind is unknown.
func kindJSON(k topology.CoreKind) string {
	if k == topology.UnknownKind {
		return ""
	}
	return k.String()
}
