package e2eutil

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Holding lists the devices of one resource that a container has.
type Holding struct {
	Pod, Container, Resource string
	IDs                      []string // sorted
}

// Holders returns the devices of each container as the kubelet of the node reports them.
func (c *Cluster) Holders(ctx context.Context) ([]Holding, error) {
	text, err := c.Shell(ctx, "/usr/local/bin/podresources")
	if err != nil {
		return nil, err
	}
	return parseHolders(text, c.Namespace)
}

// parseHolders reads the output of Command podresources (test/e2e/podresources), and returns the
// devices of the pods in a namespace. It removes duplicates, because the kubelet lists a device
// once for each of its NUMA nodes.
func parseHolders(text, namespace string) (all []Holding, err error) {
	lines := map[[3]string][]string{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, fmt.Errorf("line %q is not pod, container, resource and ids", line)
		}
		if pod, ours := strings.CutPrefix(words[0], namespace+"/"); ours {
			key := [3]string{pod, words[1], words[2]}
			lines[key] = append(lines[key], strings.Split(words[3], ",")...)
		}
	}
	for key, ids := range lines {
		slices.Sort(ids)
		all = append(all, Holding{key[0], key[1], key[2], slices.Compact(ids)})
	}
	return all, nil
}

// GivenTwice describes each device that two containers have.
func GivenTwice(all []Holding) (sentences []string) {
	holder := map[string]Holding{}
	for _, h := range all {
		for _, id := range h.IDs {
			if first, taken := holder[id]; taken {
				sentences = append(sentences, fmt.Sprintf("%s is held by %s/%s and by %s/%s", id, first.Pod, first.Container, h.Pod, h.Container))
			}
			holder[id] = h
		}
	}
	return sentences
}
