package gpu

import (
	"fmt"
	"strconv"
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
	scenario.Walk(t, func() scenario.Scene { return &scene{t: t} })
}

type scene struct {
	t *testing.T
	*Inventory
}

func (s *scene) Run(command []string) string {
	if command[0] == "machine" {
		s.Inventory = readMachine(s.t, command[1])
		return ""
	}
	count, err := strconv.Atoi(command[1])
	if err != nil {
		s.t.Fatal(err)
	}
	free, node := s.options(command[2:])
	if command[0] == "aligned" {
		cards, on, err := s.ChooseAligned(free, count, func(n topology.NodeID) bool { return n != node })
		if err != nil {
			return err.Error() + "\n"
		}
		return fmt.Sprintf("numa%d: %s\n", on, s.describe(cards))
	}
	near := func(card int) int {
		if node == topology.Unknown || s.Cards[card].NUMA == node {
			return 10
		}
		return 20
	}
	cards, ok := s.Choose(free, Wish{Count: count, Near: near})
	if !ok {
		return "too few\n"
	}
	return s.describe(cards) + "\n"
}

func (s *scene) options(words []string) (free []int, node topology.NodeID) {
	node = topology.Unknown
	for i := range s.Cards {
		free = append(free, i)
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if key == "free" {
			free = s.positions(value)
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			s.t.Fatal(err)
		}
		node = topology.NodeID(n)
	}
	return free, node
}

func (s *scene) positions(list string) []int {
	var all []int
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
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
