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

// TestScenarios walks through testdata/*.txt, one file a machine:
//
//	machine NAME numa=0,0,1,1       the cards of one of package gpu's machines, on these NUMA
//	                                nodes, of 32 CPUs each
//	place POD POLICY app:8:2 …      its containers' CPUs, 0 for shared ones, and cards; of a
//	                                group that has only=0,1,2; Split says what each gets
//	end POD
//
// The answer is where the CPUs are, and the cards and the links between them.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return &scene{t: t, placed: map[string]sched.Holding{}} })
}

type scene struct {
	t      *testing.T
	node   *sched.Node
	placed map[string]sched.Holding
}

func (s *scene) Run(command []string) string {
	switch args := command[1:]; command[0] {
	case "machine":
		s.machine(args[0], args[1])
	case "place":
		return s.place(args[0], args[1], args[2:])
	case "end":
		s.node = s.node.Return(s.placed[args[0]])
	default:
		return "no such command\n"
	}
	return ""
}

// machine reads what "nvidia-smi topo -m" prints, of which it needs the links.
func (s *scene) machine(name, numa string) {
	text, err := os.ReadFile("../../gpu/testdata/machines/" + name + ".txt")
	if err != nil {
		s.t.Fatal(err)
	}
	var cards []topology.NodeID
	for id := range strings.SplitSeq(strings.TrimPrefix(numa, "numa="), ",") {
		cards = append(cards, topology.NodeID(scenario.Number(id)))
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "GPU") {
			row := fields[1 : 1+len(cards)]
			row[len(rows)] = "-"
			rows = append(rows, row)
		}
	}
	s.node = machine(slices.Repeat([]int{32}, 1+int(slices.Max(cards))), cards...)
	if s.node.Links, err = gpu.ReadLinks(rows); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) place(name, policy string, containers []string) string {
	var group string
	if last := containers[len(containers)-1]; strings.HasPrefix(last, "only=") {
		group, containers = strings.TrimPrefix(last, "only="), containers[:len(containers)-1]
	}
	for i := range containers {
		containers[i] = strings.ReplaceAll(containers[i], ":", " ")
	}
	pod := joint(map[string]podspec.Policy{"single": podspec.Single, "spread": podspec.Spread, "random": podspec.Random}[policy], containers...)
	if pod.UID = name; group != "" {
		pod.GPUs.Offer = offerOf(strings.Split(group, ","))
	}
	at, why := Place(pod, s.node)
	if why.Refuses() {
		return why.String() + "\n"
	}
	s.placed[name] = sched.Hold(pod, at)
	s.node = s.node.Take(s.placed[name])
	var parts []string
	for part := range strings.SplitSeq(shown(pod, at), "; ") {
		parts = append(parts, part+s.linked(part))
	}
	return strings.Join(parts, "\n") + "\n"
}

// offerOf offers what is free of some cards.
func offerOf(ids []string) func(*sched.Node) sched.Offer {
	return func(n *sched.Node) (o sched.Offer) {
		for _, card := range n.GPUs {
			if card.Free == sched.WholeGPU && slices.Contains(ids, card.ID) {
				o.GPUs = append(o.GPUs, sched.GPUShare{ID: card.ID, Milli: sched.WholeGPU})
			}
		}
		return o
	}
}

// linked returns the links between the cards that end a text, such as "on 0: 2,3".
func (s *scene) linked(text string) string {
	cards := strings.Split(text[strings.LastIndex(text, " ")+1:], ",")
	var links []string
	for i, a := range cards {
		for _, b := range cards[i+1:] {
			links = append(links, s.node.Links[scenario.Number(a)][scenario.Number(b)].String())
		}
	}
	if len(links) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(links, " "))
}
