package picture

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// title returns a GPU's index, or its PCI address if the index is unknown. If both are unknown, it
// returns "unknown".
func title(c gpu.GPU) string {
	if c.Index == topology.Unknown {
		return cmp.Or(string(c.PCI), "unknown")
	}
	return fmt.Sprint(c.Index)
}

// gpusOn returns the part of a NUMA node's label that lists its GPUs, such as " · GPUs 0, 1".
func gpusOn(gpus []gpu.GPU, node topology.NodeID) string {
	var titles []string
	for _, c := range gpus {
		if c.NUMA == node {
			titles = append(titles, title(c))
		}
	}
	switch len(titles) {
	case 0:
		return ""
	case 1:
		return " · GPU " + titles[0]
	}
	return " · GPUs " + strings.Join(titles, ", ")
}

// describe returns the description of a GPU, such as "NVIDIA H100 80GB HBM3 · 79.6 GiB · NUMA 1 ·
// 0000:3b:00.0".
func describe(c gpu.GPU) string {
	parts := []string{c.Model}
	if c.Model == "" {
		parts[0] = "model unknown"
	}
	if c.MemoryBytes > 0 {
		parts = append(parts, size(c.MemoryBytes))
	}
	parts = append(parts, name("NUMA")(int(c.NUMA)))
	if c.Index != topology.Unknown {
		parts = append(parts, string(c.PCI))
	}
	if c.Health.State == gpu.Unhealthy {
		parts = append(parts, "unhealthy")
	}
	return strings.Join(parts, " · ")
}

// faults returns lines that say what is wrong with a GPU and its MIG slices, and what to do about
// it. It returns no lines if they are healthy.
func faults(c gpu.GPU) (lines []string) {
	lines = sentences(c.Health.Reason)
	for _, slice := range c.Slices {
		if slice.Health.Reason != "" {
			lines = append(lines, slice.Profile+" "+slice.UUID)
			lines = append(lines, sentences(slice.Health.Reason)...)
		}
	}
	return lines
}

func sentences(reason string) []string {
	if reason == "" {
		return nil
	}
	return strings.Split(reason, "; ")
}

// slicesOf returns a text with the slices of a GPU in MIG mode, such as "MIG 3g.40gb 2 × 1g.10gb" for
// one slice 3g.40gb and two slices 1g.10gb.
func slicesOf(c gpu.GPU) string {
	if len(c.Slices) == 0 {
		return "MIG, no slices"
	}
	var order []string
	times := map[string]int{}
	for _, slice := range c.Slices {
		if times[slice.Profile]++; times[slice.Profile] == 1 {
			order = append(order, slice.Profile)
		}
	}
	text := "MIG"
	for _, profile := range order {
		if n := times[profile]; n > 1 {
			profile = fmt.Sprintf("%d × %s", n, profile)
		}
		text += " " + profile
	}
	return text
}
