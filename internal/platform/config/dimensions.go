package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/sched/filter"
)

// Dimensions are the resources by which the scheduler searches for nodes: the search finds the
// nodes that have enough of each of them. Each has a granularity: the search compares amounts in
// units of this size. The text form is a list such as "cpu/100,memory/134217728,pods".
type Dimensions struct {
	Space filter.Space
	Theta []int64 // the granularity of each resource, in the order of Space
}

// defaultDimensions are the resources that all pods have (cpu, memory, pods), exclusive CPUs
// (numa-total), and the usual resource of GPUs (nvidia.com/gpu). The granularities are 100
// millicores of CPU and 128 MiB of memory: if the free amounts of two nodes differ by less, it does
// not matter which node a pod gets. The scheduler does not search by any other resource. It checks
// the other resources on each node that the search finds.
func defaultDimensions() Dimensions {
	var d Dimensions
	if err := d.UnmarshalText([]byte("cpu/100,memory/134217728,pods,numa-total,nvidia.com/gpu")); err != nil {
		panic(err)
	}
	return d
}

// dimensionsHelp returns the help text of the flag --dimensions.
func dimensionsHelp() string {
	return "Free resources by which nodes are compared, as a `list` with the most important first: " + strings.Join(filter.DimensionNames(), ", ") +
		" or the full name of a resource. cpu is in thousandths of a CPU, memory in bytes." +
		" numa-total counts the CPUs of the node that can still become exclusive, numa-single the most on one NUMA node, and numa-spread the most that can be spread evenly over the NUMA nodes." +
		" gpus counts entirely free GPUs; gpu-share is the largest free part of a single GPU, and gpu-total the sum of all free parts, in thousandths of a GPU. gpus:H200 counts only GPUs of the model H200; the same suffix is possible with gpu-share and gpu-total." +
		" A number after a slash is the granularity: with cpu/100, nodes are compared by tenths of a CPU."
}

// MarshalText returns the text form. It leaves out granularities of 1.
func (d Dimensions) MarshalText() ([]byte, error) {
	items := make([]string, len(d.Space))
	for i, dimension := range d.Space {
		items[i] = dimension.Name
		if d.Theta[i] != 1 {
			items[i] += "/" + strconv.FormatInt(d.Theta[i], 10)
		}
	}
	return []byte(strings.Join(items, ",")), nil
}

// UnmarshalText parses the text form. Names of resources may contain slashes. So only a
// number after the last slash is a granularity.
func (d *Dimensions) UnmarshalText(text []byte) error {
	read := Dimensions{}
	for item := range strings.SplitSeq(string(text), ",") {
		name, theta := cutTheta(strings.TrimSpace(item))
		dimension, err := filter.ParseDimension(name)
		if err != nil {
			return err
		}
		if theta <= 0 {
			return fmt.Errorf("granularity of dimension %q is %d: must be greater than 0", name, theta)
		}
		read.Space, read.Theta = append(read.Space, dimension), append(read.Theta, theta)
	}
	*d = read
	return nil
}

func cutTheta(item string) (name string, theta int64) {
	slash := strings.LastIndexByte(item, '/')
	if slash < 0 {
		return item, 1
	}
	theta, err := strconv.ParseInt(item[slash+1:], 10, 64)
	if err != nil {
		return item, 1
	}
	return item[:slash], theta
}
