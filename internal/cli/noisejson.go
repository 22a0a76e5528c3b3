package cli

import (
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// containerNoise is an element of the output of "numalet noise -o json". It has the foreign time of
// one container in seconds: the CPU time that interrupts, kernel threads and other processes used
// on the container's exclusive CPUs.
type containerNoise struct {
	Namespace      string  `json:"namespace"`
	Pod            string  `json:"pod"`
	UID            string  `json:"uid"`
	Container      string  `json:"container"`
	Interrupts     float64 `json:"interruptsSeconds"`
	Kernel         float64 `json:"kernelSeconds"`
	Other          float64 `json:"otherSeconds"`
	CPUSeconds     float64 `json:"cpuSeconds"` // elapsed time for which foreign time was measured, added up over the container's exclusive CPUs; the CPUs may be idle or busy
	ForeignPercent float64 `json:"foreignPercent"`
}

func (c containerNoise) percent(seconds float64) float64 {
	if c.CPUSeconds <= 0 {
		return 0
	}
	return 100 * seconds / c.CPUSeconds
}

// noises has the foreign time of each container with exclusive CPUs. A key has the namespace, the
// name and the UID of the pod, and the name of the container.
type noises map[string]containerNoise

// noiseOf takes the foreign time of each container from the agent's metrics.
func noiseOf(families map[string]*dto.MetricFamily) noises {
	all := noises{}
	for _, m := range families["numalet_container_exclusive_cpu_seconds_total"].GetMetric() {
		all.add(m, func(c *containerNoise, _ string, seconds float64) { c.CPUSeconds += seconds })
	}
	for _, m := range families["numalet_container_foreign_cpu_seconds_total"].GetMetric() {
		all.add(m, (*containerNoise).addSource)
	}
	return all
}

func (n noises) add(m *dto.Metric, to func(c *containerNoise, source string, seconds float64)) {
	label := map[string]string{}
	for _, l := range m.GetLabel() {
		label[l.GetName()] = l.GetValue()
	}
	key := strings.Join([]string{label["namespace"], label["pod"], label["uid"], label["container"]}, "/")
	c := n[key]
	c.Namespace, c.Pod, c.UID, c.Container = label["namespace"], label["pod"], label["uid"], label["container"]
	to(&c, label["source"], m.GetCounter().GetValue())
	n[key] = c
}

func (c *containerNoise) addSource(source string, seconds float64) {
	switch source {
	case "interrupts":
		c.Interrupts += seconds
	case "kernel":
		c.Kernel += seconds
	default:
		c.Other += seconds
	}
}

// The method `since` returns how much the foreign time of each container has grown since earlier
// readings (the parameter `before`). The order is by namespace, pod and container. If the field
// CPUSeconds of a container is smaller than in the earlier reading, the agent has restarted, and
// its counters have started at zero again. In this case, the method subtracts nothing, and returns
// the foreign time since the restart.
func (n noises) since(before noises) []containerNoise {
	all := []containerNoise{}
	for _, key := range slices.Sorted(maps.Keys(n)) {
		c, b := n[key], before[key]
		if b.CPUSeconds <= c.CPUSeconds {
			c.Interrupts, c.Kernel, c.Other, c.CPUSeconds = c.Interrupts-b.Interrupts, c.Kernel-b.Kernel, c.Other-b.Other, c.CPUSeconds-b.CPUSeconds
		}
		c.ForeignPercent = c.percent(c.Interrupts + c.Kernel + c.Other)
		all = append(all, c)
	}
	return all
}
