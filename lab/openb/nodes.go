package openb

import (
	"fmt"
	"io"
	"strconv"

	"github.com/numalet/numalet/pkg/sched"
)

// podsPerNode is how many pods fit a node. The trace has no limit on pods per node, so this
// number is so large that no node reaches it.
const podsPerNode = 1 << 20

// gpusPerNode is the maximum number of GPUs that a node has or a pod requests.
const gpusPerNode = 1024

const mebibyte = 1 << 20

// ReadNodes reads nodes from CSV with the columns sn, cpu_milli, memory_mib, gpu
// (the number of GPUs) and model. The ids of the GPUs are their indexes, from 0.
func ReadNodes(r io.Reader) ([]*sched.Node, error) {
	t, err := open(r, "sn", "cpu_milli", "memory_mib", "gpu", "model")
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	var nodes []*sched.Node
	if err := t.each(func(row *row) { nodes = append(nodes, node(row)) }); err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	return nodes, nil
}

func node(row *row) *sched.Node {
	n := &sched.Node{Name: row.name("sn"), Allocatable: sched.Amounts{
		CPU: sched.MilliCPU(row.number("cpu_milli")), Memory: sched.Bytes(row.number("memory_mib") * mebibyte), Pods: podsPerNode,
	}}
	for i := range row.upTo(gpusPerNode, "gpu") {
		n.GPUs = append(n.GPUs, sched.GPU{ID: strconv.FormatInt(i, 10), Type: row.text("model"), Free: sched.WholeGPU})
	}
	return n
}
