package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/topology"
)

// TestScenarios runs the commands of testdata/*.txt and compares what they print. Each
// file is about one machine:
//
//	machine NAME                          one of testdata/machines
//	choose COUNT [free=0,2,5] [near=1]    near: GPUs of that NUMA node are nearer
//	aligned COUNT [free=0,2,5] [full=1]   full: that NUMA node lacks CPUs
//
// The commands `choose` and `aligned` print the chosen GPUs and the links between them, GPU by GPU.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, _ *scenario.Answer) scenario.Commands {
		s := &scene{t: t}
		return scenario.Commands{"machine": s.machine, "choose": s.choose, "aligned": s.aligned}
	})
}

type scene struct {
	t *testing.T
	*Inventory
}

func (s *scene) machine(c *scenario.Command) { s.Inventory = readMachine(s.t, c.Arg(0)) }

func (s *scene) choose(c *scenario.Command) {
	node := s.numa(c, "near")
	near := func(gpu int) int {
		if node == topology.Unknown || s.GPUs[gpu].NUMA == node {
			return 10
		}
		return 20
	}
	gpus, ok := s.Choose(s.free(c), Wish{Count: c.Int(0), Near: near})
	if !ok {
		c.Line("too few")
		return
	}
	c.Line("%s", s.describe(gpus))
}

func (s *scene) aligned(c *scenario.Command) {
	full := s.numa(c, "full")
	gpus, on, err := s.ChooseAligned(s.free(c), c.Int(0), func(numaNode topology.NodeID) bool { return numaNode != full })
	if err != nil {
		c.Error(err)
		return
	}
	c.Line("numa%d: %s", on, s.describe(gpus))
}

// numa returns the NUMA node that is given as `key`=NODE, or Unknown if it is not given.
func (s *scene) numa(c *scenario.Command, key string) topology.NodeID {
	return topology.NodeID(c.IntValue(key, int(topology.Unknown)))
}

// free returns the free GPUs that the command lists, or all GPUs if the command lists
// none.
func (s *scene) free(c *scenario.Command) (gpus []int) {
	if !c.Has("free") {
		for i := range s.GPUs {
			gpus = append(gpus, i)
		}
	}
	for _, gpu := range c.List("free") {
		gpus = append(gpus, scenario.Int(gpu))
	}
	return gpus
}

// describe returns the GPUs and the links between them, such as "0 2 3 (NV1 NV2; NV2)".
func (s *scene) describe(gpus []int) string {
	var rows []string
	for i, a := range gpus {
		var row []string
		for _, b := range gpus[i+1:] {
			row = append(row, s.Links[a][b].String())
		}
		if len(row) > 0 {
			rows = append(rows, strings.Join(row, " "))
		}
	}
	text := strings.Trim(fmt.Sprint(gpus), "[]")
	if len(rows) == 0 {
		return text
	}
	return text + " (" + strings.Join(rows, "; ") + ")"
}
