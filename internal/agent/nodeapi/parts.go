package nodeapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/numalet/numalet/api/v1alpha1"
)

// part is what one field manager applies of a status. An apply has to name all
// that its manager owns, else the rest is removed; two managers let what changes
// with every pod be sent without what lasts as long as the agent.
type part struct {
	manager string
	fields  map[string]any
}

// split returns what lasts (machine, capacity, conditions, GPUs) and then what
// changes with pods: what is available, of each NUMA node, and who holds the rest.
func split(s v1alpha1.NodeTopologyStatus) ([]part, error) {
	lasting, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	changing := map[string]any{}
	move(lasting, changing, "pods")
	if cpus, ok := lasting["cpus"].(map[string]any); ok {
		changing["cpus"] = available(cpus)
	}
	if numa, ok := lasting["numa"].([]any); ok {
		var nodes []any
		for _, n := range numa {
			node := n.(map[string]any)
			free := available(node)
			free["id"] = node["id"]
			nodes = append(nodes, free)
		}
		changing["numa"] = nodes
	}
	return []part{{Component, lasting}, {Component + "-available", changing}}, nil
}

// available moves out of fields what says what is available.
func available(fields map[string]any) map[string]any {
	out := map[string]any{}
	move(fields, out, "available", "availableMemory")
	return out
}

func move(from, to map[string]any, names ...string) {
	for _, name := range names {
		if value, ok := from[name]; ok {
			to[name] = value
			delete(from, name)
		}
	}
}
