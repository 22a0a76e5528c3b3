package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
)

// TestScenarios runs the commands of testdata/*.txt and compares what they print. The
// machine has a whole GPU "w" and a GPU "m" in MIG mode. The slices of "m" are m1 (GPU
// instance 1, compute instance 0), m2a (2, 0) and m2b (2, 1). Faults last at least a
// minute. The commands are:
//
//	at 30s                             sets the clock
//	xid GPU NUMBER [gi=1] [ci=0]       also: doublebit GPU, unavailable GPU
//	probe GPU [dead[=WHY]] [reset] [action=none|reset|reboot|peers|drain]
//	show
//
// Each event and each probe prints what it changed.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(*testing.T, *scenario.Answer) scenario.Commands {
		v := machine()
		s := &scene{inventory: v, tracker: New(v, time.Minute)}
		return scenario.Commands{"at": s.at, "xid": s.event, "doublebit": s.event, "unavailable": s.event, "probe": s.probe, "show": s.show}
	})
}

func machine() *gpu.Inventory {
	return &gpu.Inventory{GPUs: []gpu.GPU{
		{UUID: "w"},
		{UUID: "m", Index: 1, MIG: true, Slices: []gpu.Slice{
			{UUID: "m1", GPUInstance: 1}, {UUID: "m2a", GPUInstance: 2}, {UUID: "m2b", GPUInstance: 2, ComputeInstance: 1},
		}},
	}}
}

type scene struct {
	inventory *gpu.Inventory
	tracker   *Tracker
	now       time.Time
}

func (s *scene) at(c *scenario.Command) { s.now = time.Time{}.Add(c.Duration(0)) }

func (s *scene) event(c *scenario.Command) {
	e := Event{GPU: c.Arg(0), Kind: map[string]Kind{"doublebit": DoubleBit, "unavailable": Unavailable}[c.Name]}
	if c.Name == "xid" {
		e.Xid = uint64(c.Int(1))
	}
	e.Instance = Of(c.IntValue("gi", -1), c.IntValue("ci", -1))
	s.changed(c, s.tracker.ObserveEvent(e, s.now))
}

func (s *scene) probe(c *scenario.Command) {
	p := Probe{Answers: !c.Has("dead"), Error: c.Value("dead"), Reset: c.Has("reset")}
	if c.Has("action") {
		p.Action = map[string]Action{
			"none": NoAction, "reset": ResetGPU, "reboot": RebootNode, "peers": DrainPeers, "drain": DrainAndReset,
		}[c.Value("action")]
	}
	s.changed(c, s.tracker.ObserveProbe(c.Arg(0), p, s.now))
}

func (s *scene) changed(c *scenario.Command, ids []string) {
	for _, id := range ids {
		write(c, id, s.tracker.Health(id))
	}
}

// show prints the health of the GPUs and slices that can be allocated.
func (s *scene) show(c *scenario.Command) {
	for _, u := range s.tracker.Apply(s.inventory).Units() {
		write(c, u.ID, u.Health)
	}
}

func write(c *scenario.Command, id string, h gpu.Health) {
	c.Line("%s", strings.TrimSuffix(fmt.Sprintf("%s %s %s", id, h.State, h.Reason), " "))
}
