package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/topology"
)

// TestScenarios walks through testdata/*.txt, one file a machine:
//
//	machine NAME                          one of testdata/machines
//	choose COUNT [free=0,2,5] [near=1]    near: cards of that NUMA node are nearer
//	aligned COUNT [free=0,2,5] [full=1]   full: that NUMA node lacks CPUs
//
// The answer to a choice is the cards and the links between them, card by card.
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
	near := func(card int) int {
		if node == topology.Unknown || s.Cards[card].NUMA == node {
			return 10
		}
		return 20
	}
	cards, ok := s.Choose(s.free(c), Wish{Count: c.Int(0), Near: near})
	if !ok {
		c.Line("too few")
		return
	}
	c.Line("%s", s.describe(cards))
}

func (s *scene) aligned(c *scenario.Command) {
	full := s.numa(c, "full")
	cards, on, err := s.ChooseAligned(s.free(c), c.Int(0), func(n topology.NodeID) bool { return n != full })
	if err != nil {
		c.Error(err)
		return
	}
	c.Line("numa%d: %s", on, s.describe(cards))
}

// numa returns the NUMA node that a key names.
func (s *scene) numa(c *scenario.Command, key string) topology.NodeID {
	return topology.NodeID(c.IntValue(key, int(topology.Unknown)))
}

// free returns the cards that are free, which are all unless the command lists them.
func (s *scene) free(c *scenario.Command) (cards []int) {
	if !c.Has("free") {
		for i := range s.Cards {
			cards = append(cards, i)
		}
	}
	for _, card := range c.List("free") {
		cards = append(cards, scenario.Int(card))
	}
	return cards
}

// describe returns "0 2 3 (NV1 NV2; NV2)".
func (s *scene) describe(cards []int) string {
	var rows []string
	for i, a := range cards {
		var row []string
		for _, b := range cards[i+1:] {
			row = append(row, s.Links[a][b].String())
		}
		if len(row) > 0 {
			rows = append(rows, strings.Join(row, " "))
		}
	}
	text := strings.Trim(fmt.Sprint(cards), "[]")
	if len(rows) == 0 {
		return text
	}
	return text + " (" + strings.Join(rows, "; ") + ")"
}
