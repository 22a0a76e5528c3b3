package health

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
)

// TestScenarios walks through testdata/*.txt. The machine has a whole card "w"
// and a card "m" with the slices m1 (GPU instance 1, compute instance 0), m2a
// (2, 0) and m2b (2, 1); faults settle in a minute.
//
//	at 30s                              the clock
//	xid CARD NUMBER [gi=1] [ci=0]       also: doublebit CARD, unavailable CARD
//	probe CARD [dead[=WHY]] [reset] [action=none|reset|reboot|peers|drain]
//	show
//
// The answer to an event and to a probe is what it changed.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene {
		v := machine()
		return &scene{t: t, inventory: v, watch: New(v, time.Minute)}
	})
}

func machine() *gpu.Inventory {
	return &gpu.Inventory{Cards: []gpu.Card{
		{UUID: "w"},
		{UUID: "m", Index: 1, MIG: true, Slices: []gpu.Slice{
			{UUID: "m1", GPUInstance: 1}, {UUID: "m2a", GPUInstance: 2}, {UUID: "m2b", GPUInstance: 2, ComputeInstance: 1},
		}},
	}}
}

type scene struct {
	t         *testing.T
	inventory *gpu.Inventory
	watch     *Watch
	now       time.Time
}

func (s *scene) Run(command []string) string {
	switch command[0] {
	case "at":
		d, err := time.ParseDuration(command[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = time.Time{}.Add(d)
		return ""
	case "show":
		return s.show()
	case "probe":
		return s.changed(s.watch.Probe(command[1], s.probe(command[2:]), s.now))
	}
	return s.changed(s.watch.Note(s.event(command), s.now))
}

func (s *scene) event(command []string) Event {
	e := Event{Card: command[1], Kind: map[string]Kind{"doublebit": DoubleBit, "unavailable": Unavailable}[command[0]]}
	ids := map[string]int{"gi": -1, "ci": -1}
	for _, word := range command[2:] {
		key, value, named := strings.Cut(word, "=")
		n, err := strconv.Atoi(key)
		if named {
			n, err = strconv.Atoi(value)
			ids[key] = n
		} else {
			e.Xid = uint64(n)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	e.Instance = Of(ids["gi"], ids["ci"])
	return e
}

func (s *scene) probe(words []string) Probe {
	p := Probe{Answers: true}
	for _, word := range words {
		option, value, _ := strings.Cut(word, "=")
		switch option {
		case "dead":
			p.Answers, p.Error = false, value
		case "reset":
			p.Reset = true
		default:
			p.Action = map[string]Action{
				"none": NoAction, "reset": ResetGPU, "reboot": RebootNode, "peers": DrainPeers, "drain": DrainAndReset,
			}[value]
		}
	}
	return p
}

func (s *scene) changed(ids []string) string {
	var b strings.Builder
	for _, id := range ids {
		h := s.watch.Health(id)
		fmt.Fprintf(&b, "%s %s %s\n", id, h.State, h.Reason)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// show lists what can be given away: a slice is no better off than its card.
func (s *scene) show() string {
	var b strings.Builder
	for _, u := range s.watch.Apply(s.inventory).Units() {
		fmt.Fprintf(&b, "%s %s %s\n", u.ID, u.Health.State, u.Health.Reason)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}
