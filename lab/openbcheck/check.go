package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// check returns how many percent of the capacity of all GPUs the placements in a file allocate.
// It returns an error if a pod is unknown or placed twice, or does not get the number and the
// shares of GPUs that it requests. It also returns an error if the pods on a GPU or a node request
// more than its capacity. It does not check the types of GPUs.
func check(nodes, pods, placed string) (percent float64, err error) {
	c := checker{gpus: map[string]int64{}, seen: map[string]bool{}, cpu: map[string]int64{}, memory: map[string]int64{}}
	for to, file := range map[*table]string{&c.nodes: nodes, &c.pods: pods, &c.placed: placed} {
		if *to, err = readTable(file); err != nil {
			return 0, err
		}
	}
	requests := map[string][]string{}
	for _, row := range c.pods.rows {
		requests[c.pods.text(row, "name")] = row
	}
	for _, row := range c.placed.rows {
		if err := c.place(row, requests[c.placed.text(row, "pod")]); err != nil {
			return 0, fmt.Errorf("placement %v: %w", row, err)
		}
	}
	return c.sum()
}

type checker struct {
	nodes, pods, placed table

	seen        map[string]bool  // names of the placed pods
	gpus        map[string]int64 // allocated thousandths of each GPU, by "node/index"
	cpu, memory map[string]int64 // allocated millicores and mebibytes, by node
}

// place adds one placement to the allocated amounts, and checks the GPUs of the pod.
func (c *checker) place(row, request []string) error {
	pod, node := c.placed.text(row, "pod"), c.placed.text(row, "node")
	if request == nil || c.seen[pod] {
		return errors.New("unknown pod, or placed twice")
	}
	c.seen[pod] = true
	c.cpu[node] += c.pods.number(request, "cpu_milli")
	c.memory[node] += c.pods.number(request, "memory_mib")
	count, milli, mine := c.pods.number(request, "num_gpu"), c.pods.number(request, "gpu_milli"), map[string]bool{}
	for _, part := range strings.FieldsFunc(c.placed.text(row, "gpus"), func(r rune) bool { return r == ';' }) {
		index, given, _ := strings.Cut(part, ":")
		gpu := node + "/" + index
		if given != strconv.FormatInt(milli, 10) || mine[gpu] {
			return fmt.Errorf("%s: want %d thousandths of a GPU, each GPU once", part, milli)
		}
		mine[gpu] = true
		c.gpus[gpu] += milli
	}
	if int64(len(mine)) != count {
		return fmt.Errorf("%d GPUs, want %d", len(mine), count)
	}
	return nil
}

// sum compares the allocated amounts with the capacity of the nodes, and returns the percentage of
// the GPU capacity that is allocated.
func (c *checker) sum() (float64, error) {
	total, given := int64(0), int64(0)
	for _, row := range c.nodes.rows {
		name, gpus := c.nodes.text(row, "sn"), c.nodes.number(row, "gpu")
		total += 1000 * gpus
		if c.cpu[name] > c.nodes.number(row, "cpu_milli") || c.memory[name] > c.nodes.number(row, "memory_mib") {
			return 0, fmt.Errorf("node %s: %d thousandths of a CPU and %d MiB allocated", name, c.cpu[name], c.memory[name])
		}
		delete(c.cpu, name)
		for i := range gpus {
			gpu := fmt.Sprintf("%s/%d", name, i)
			if c.gpus[gpu] > 1000 {
				return 0, fmt.Errorf("GPU %s: %d thousandths allocated", gpu, c.gpus[gpu])
			}
			given += c.gpus[gpu]
			delete(c.gpus, gpu)
		}
	}
	if len(c.cpu) > 0 || len(c.gpus) > 0 {
		return 0, fmt.Errorf("placements on unknown nodes %v and unknown GPUs %v", c.cpu, c.gpus)
	}
	return 100 * float64(given) / float64(max(1, total)), nil
}
