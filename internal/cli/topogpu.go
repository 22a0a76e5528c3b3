package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/numalet/numalet/internal/cli/capture"
	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/pci"
	"github.com/numalet/numalet/pkg/topology"
)

// gpuTimeout is how long numalet-nvml, the program that reads the GPUs, may take to answer.
const gpuTimeout = 2 * time.Second

// gpus returns the GPUs of the machine whose root directory is given as `root`. On the running
// machine, it first asks the program numalet-nvml. If there is no answer, or if the machine is a
// captured one, it reads the GPUs from sysfs. If the socket of numalet-nvml exists but the program
// does not answer, the function also returns a warning.
func gpus(ctx context.Context, root, socket string) (inventory *gpu.Inventory, warnings []string, err error) {
	if root == live && socket != "" {
		ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
		defer cancel()
		v, err := gpufeed.Fetch(ctx, socket)
		if err == nil {
			return v, nil, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			warnings = []string{err.Error() + ": the GPUs are listed from sysfs instead, without indexes and MIG slices"}
		}
	}
	tree, err := capture.Open(root)
	if err != nil {
		return nil, nil, fmt.Errorf("open root: %w", err)
	}
	defer tree.Close()
	inventory, err = pci.Discover(tree)
	return inventory, warnings, err
}

type gpuJSON struct {
	ID          string          `json:"id"`    // "" if unknown
	Index       int             `json:"index"` // -1 if unknown
	Model       string          `json:"model"`
	PCI         gpu.Address     `json:"pci"`
	NUMA        topology.NodeID `json:"numa"`
	MemoryBytes uint64          `json:"memoryBytes,omitempty"`
	MIG         bool            `json:"mig,omitempty"`
	Slices      []sliceJSON     `json:"slices,omitempty"`
	Health      string          `json:"health"`
	Message     string          `json:"message,omitempty"`
}

type sliceJSON struct {
	ID          string `json:"id"`
	Profile     string `json:"profile"`
	MemoryBytes uint64 `json:"memoryBytes,omitempty"`
	Health      string `json:"health"`
	Message     string `json:"message,omitempty"`
}

func describeGPU(c gpu.GPU) gpuJSON {
	doc := gpuJSON{
		ID: c.UUID, Index: c.Index, Model: c.Model, PCI: c.PCI, NUMA: c.NUMA,
		MemoryBytes: c.MemoryBytes, MIG: c.MIG, Health: c.Health.State.String(), Message: c.Health.Reason,
	}
	for _, slice := range c.Slices {
		doc.Slices = append(doc.Slices, sliceJSON{slice.UUID, slice.Profile, slice.MemoryBytes, slice.Health.State.String(), slice.Health.Reason})
	}
	return doc
}
