package gpu

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/numalet/numalet/pkg/topology"
)

// readMachine returns the GPUs of the machine in the file testdata/machines/NAME.txt.
func readMachine(t testing.TB, name string) *Inventory {
	t.Helper()
	text, err := os.ReadFile("testdata/machines/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	v, err := parseTable(string(text))
	if err == nil {
		err = v.Check()
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// parseTable parses the output of "nvidia-smi topo -m". It reads the columns of the
// GPUs and, if there is one, the column "NUMA Affinity". Lines with # are comments.
func parseTable(text string) (*Inventory, error) {
	inventory := &Inventory{}
	gpus, tellsNUMA := 0, false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "#"):
		case gpus == 0:
			gpus = strings.Count(line, "GPU")
			tellsNUMA = strings.Contains(line, "NUMA Affinity")
		default:
			if err := inventory.parseRow(fields, gpus, tellsNUMA); err != nil {
				return nil, err
			}
		}
	}
	return inventory, nil
}

func (v *Inventory) parseRow(fields []string, gpus int, tellsNUMA bool) error {
	gpu := GPU{UUID: fields[0], Index: len(v.GPUs), Model: "NVIDIA A100-SXM4-80GB", NUMA: topology.Unknown}
	row := make([]Link, gpus)
	for i := range row {
		if i == gpu.Index {
			continue
		}
		link, err := ParseLink(fields[1+i])
		if err != nil {
			return fmt.Errorf("row %s: %w", fields[0], err)
		}
		row[i] = link
	}
	if tellsNUMA {
		node, err := strconv.Atoi(fields[gpus+2])
		if err != nil {
			return fmt.Errorf("row %s: %w", fields[0], err)
		}
		gpu.NUMA = topology.NodeID(node)
	}
	v.GPUs, v.Links = append(v.GPUs, gpu), append(v.Links, row)
	return nil
}
