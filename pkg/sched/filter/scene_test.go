package filter

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// TestScenarios runs the scripts testdata/*.txt. Each script has one machine, and uses
// these commands:
//
//	machine NAME numa=0,0,1,1       makes a node with the GPUs of a machine in the test data
//	                                of package gpu, here two GPUs on each of two NUMA nodes;
//	                                each NUMA node has 32 CPUs
//	place POD POLICY app:8:2 …      places a pod; app:8:2 is an app container that requests
//	                                8 exclusive CPUs and 2 GPUs, and app:0:2 is one without
//	                                exclusive CPUs; with only=0,1,2, a GPU group offers only
//	                                these GPUs
//	end POD                         ends the pod
//
// For each container, the output has the NUMA nodes of its CPUs, its GPUs, and the
// links between these GPUs.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, _ *scenario.Answer) scenario.Commands {
		s := &scene{t: t, placed: map[string]sched.Holding{}}
		return scenario.Commands{"machine": s.machine, "place": s.place, "end": s.end}
	})
}

type scene struct {
	t      *testing.T
	node   *sched.Node
	placed map[string]sched.Holding
}

// machine runs the script command `machine NAME numa=...`, which makes a node. It reads
// the links between the GPUs from a file with the output of "nvidia-smi topo -m".
func (s *scene) machine(c *scenario.Command) {
	text, err := os.ReadFile("../../gpu/testdata/machines/" + c.Arg(0) + ".txt")
	if err != nil {
		s.t.Fatal(err)
	}
	var gpus []topology.NodeID
	for _, id := range c.List("numa") {
		gpus = append(gpus, topology.NodeID(scenario.Int(id)))
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "GPU") {
			row := fields[1 : 1+len(gpus)]
			row[len(rows)] = "-"
			rows = append(rows, row)
		}
	}
	s.node = machine(slices.Repeat([]int{32}, 1+int(slices.Max(gpus))), gpus...)
	if s.node.Links, err = gpu.ReadLinks(rows); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) place(c *scenario.Command) {
	containers := c.Args()[2:]
	for i := range containers {
		containers[i] = strings.ReplaceAll(containers[i], ":", " ")
	}
	pod := joint(map[string]podspec.Policy{"single": podspec.Single, "spread": podspec.Spread, "random": podspec.Random}[c.Arg(1)], containers...)
	if pod.UID = c.Arg(0); c.Has("only") {
		pod.GPUs.Offer = offerOf(c.List("only"))
	}
	at, why := Place(pod, s.node)
	if why.Refuses() {
		c.Line("%s", why)
		return
	}
	s.placed[pod.UID] = sched.Hold(pod, at)
	s.node = s.node.Take(s.placed[pod.UID])
	for part := range strings.SplitSeq(shown(pod, at), "; ") {
		c.Line("%s%s", part, s.linked(part))
	}
}

func (s *scene) end(c *scenario.Command) { s.node = s.node.Return(s.placed[c.Arg(0)]) }

// offerOf returns a function for GPURequest.Offer. It offers those GPUs that have one
// of the given IDs and are entirely free.
func offerOf(ids []string) func(*sched.Node) sched.Offer {
	return func(node *sched.Node) (o sched.Offer) {
		for _, device := range node.GPUs {
			if device.Free == sched.WholeGPU && slices.Contains(ids, device.ID) {
				o.GPUs = append(o.GPUs, sched.GPUShare{ID: device.ID, Milli: sched.WholeGPU})
			}
		}
		return o
	}
}

// linked returns the links between the GPUs whose IDs are at the end of a text such as
// "on 0: 2,3".
func (s *scene) linked(text string) string {
	gpus := strings.Split(text[strings.LastIndex(text, " ")+1:], ",")
	var links []string
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			links = append(links, s.node.Links[scenario.Int(a)][scenario.Int(b)].String())
		}
	}
	if len(links) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(links, " "))
}
