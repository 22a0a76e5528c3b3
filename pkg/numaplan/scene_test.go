package numaplan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// TestScenarios runs the scripts in testdata/*.txt. Their commands are:
//
//	machine 7 6 [memory=16] [width=2] [keep=shared]    free CPUs by NUMA node
//	plan single 5 2 init:2 sidecar:1 2@0:2 3/8         CPUs of each container; 2@0:2: 2 CPUs of NUMA node 0; 3/8: 3 CPUs and 8 bytes of memory
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(*testing.T, *scenario.Answer) scenario.Commands {
		s := new(scene)
		return scenario.Commands{"machine": s.machine, "plan": s.plan}
	})
}

type scene struct{ view View }

func (s *scene) machine(c *scenario.Command) {
	s.view = View{CoreWidth: c.IntValue("width", 1), KeepShared: c.Value("keep") == "shared"}
	for id, free := range c.Args() {
		s.view.NUMA = append(s.view.NUMA, NUMANode{
			ID: topology.NodeID(id), FreeCPUs: scenario.Int(free),
			FreeMemory: int64(c.IntValue("memory", 0)), Spare: s.view.CoreWidth,
		})
	}
}

func (s *scene) plan(c *scenario.Command) {
	var request Request
	var err error
	request.Policy, err = podspec.ParsePolicy(c.Arg(0))
	c.Error(err)
	for i, arg := range c.Args()[1:] {
		request.Containers = append(request.Containers, container(fmt.Sprint("c", i), arg))
	}
	counts, reason := Plan(request, s.view, Hooks{})
	if reason != Fits {
		c.Line("%s: %s", reason, Explain(request, s.view, Hooks{}))
	}
	for i, n := range counts {
		c.Line("%-8s %s", request.Containers[i].Name, Numbers(s.view.PerNode(n)))
	}
}

// container returns the container that a text of the form "[kind:]CPUs[@node:CPUs,…][/memory]"
// describes.
func container(name, text string) podspec.Container {
	c := podspec.Container{Name: name}
	text, memory, _ := strings.Cut(text, "/")
	text, named, isNamed := strings.Cut(text, "@")
	if kind, rest, ok := strings.Cut(text, ":"); ok {
		c.Kind, _ = podspec.ParseKind(kind)
		text = rest
	}
	c.CPUs = scenario.Int(text)
	if memory != "" {
		c.MemoryBytes = uint64(scenario.Int(memory))
	}
	if isNamed {
		c.PerNode = map[topology.NodeID]int{}
		for node, n := range scenario.Pairs(named) {
			c.PerNode[topology.NodeID(scenario.Int(node))] = scenario.Int(n)
		}
	}
	return c
}
