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

// gpuPatience is how long numalet-nvml may take to answer.
const gpuPatience = 2 * time.Second

// gpus returns the GPUs of the machine under root: of the running one as
// numalet-nvml tells of them, where somebody listens at the socket; else as the
// kernel does. The doubt, if any, is why that is so.
func gpus(ctx context.Context, root, socket string) (v *gpu.Inventory, doubts []string, err error) {
	if root == live && socket != "" {
		ctx, cancel := context.WithTimeout(ctx, gpuPatience)
		defer cancel()
		v, err := gpufeed.Fetch(ctx, socket)
		if err == nil {
			return v, nil, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			doubts = []string{err.Error() + ": the GPUs are shown as the kernel tells of them"}
		}
	}
	tree, err := capture.Open(root)
	if err != nil {
		return nil, nil, fmt.Errorf("open root: %w", err)
	}
	defer tree.Close()
	v, err = pci.Discover(tree)
	return v, doubts, err
}

type gpuJSON struct {
	ID          string          `json:"id"`    // "" where NVIDIA's driver does not tell
	Index       int             `json:"index"` // -1 where NVIDIA's library was not asked
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

func cardJSON(c gpu.Card) gpuJSON {
	doc := gpuJSON{
		ID: c.UUID, Index: c.Index, Model: c.Model, PCI: c.PCI, NUMA: c.NUMA,
		MemoryBytes: c.MemoryBytes, MIG: c.MIG, Health: c.Health.State.String(), Message: c.Health.Reason,
	}
	for _, s := range c.Slices {
		doc.Slices = append(doc.Slices, sliceJSON{s.UUID, s.Profile, s.MemoryBytes, s.Health.State.String(), s.Health.Reason})
	}
	return doc
}
