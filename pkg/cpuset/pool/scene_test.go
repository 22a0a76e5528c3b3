package pool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
)

// TestScenarios runs the scripts in testdata/*.txt. Their commands are:
//
//	machine packages=2 cores=4 smt=2 [nodes=1 caches=1 reserved=0,8 full-cores …]
//	pod a spread app=4 init:i=2 sidecar:s=1 [app=2@0:2]    2@0:2 means 2 CPUs of NUMA node 0
//	pod a single app=2/1                                   2/1 means 2 CPUs and 1 GiB of memory
//	resize a/app 6 | return a | release a | restart [reserved=0-3] | show
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(*testing.T, *scenario.Answer) scenario.Commands {
		s := new(scene)
		return scenario.Commands{"machine": s.build, "pod": s.pod, "resize": s.resize, "return": s.giveBack, "release": s.release, "restart": s.restart, "show": s.show}
	})
}

// scene is the state of a scenario.
type scene struct {
	machine *topology.Machine
	options pool.Options
	ledger  *pool.Ledger
}

func (s *scene) build(c *scenario.Command) {
	b := machinetest.Machine(c.IntValue("packages", 1), c.IntValue("cores", 4)).
		SMT(c.IntValue("smt", 1)).NodesPerPackage(c.IntValue("nodes", 1)).CachesPerNode(c.IntValue("caches", 1)).
		Memory(uint64(c.IntValue("GiB", 16)) << 30).Offline(c.Value("offline")).Isolated(c.Value("isolated")).OutsideNUMA(c.Value("outside-numa"))
	if eco := c.Value("efficiency"); eco != "" {
		b = b.Efficiency(eco)
	}
	s.machine = b.Build()
	s.options = pool.Options{FullCores: c.Has("full-cores"), Reserved: c.CPUs("reserved")}
	c.Error(s.open())
}

// open makes an empty ledger for the scene's machine and options.
func (s *scene) open() error {
	l, err := pool.New(s.machine, s.options)
	if err == nil {
		s.ledger = l
	}
	return err
}

func (s *scene) pod(c *scenario.Command) {
	p := pool.Pod{UID: c.Arg(0)}
	for _, arg := range c.Words[1:] {
		if policy, err := podspec.ParsePolicy(arg); err == nil {
			p.Policy = policy
			continue
		}
		p.Containers = append(p.Containers, want(arg))
	}
	g, err := s.ledger.Reserve(p)
	if err != nil {
		c.Error(err)
		return
	}
	for _, claim := range g.Claims {
		c.Line("%-8s %s%s", claim.Container, claim.CPUs, mems(claim))
	}
}

func mems(c pool.Claim) string {
	if c.Mems == nil {
		return ""
	}
	return fmt.Sprintf("  mems %v, %d GiB", c.Mems, c.MemoryBytes>>30)
}

// want returns the container that a text of the form "[kind:]name=CPUs[@node:CPUs,…][/GiB]"
// describes.
func want(text string) podspec.Container {
	name, amount, _ := strings.Cut(text, "=")
	var w podspec.Container
	if kind, rest, ok := strings.Cut(name, ":"); ok {
		w.Kind, _ = podspec.ParseKind(kind)
		name = rest
	}
	w.Name = name
	amount, memory, _ := strings.Cut(amount, "/")
	amount, counts, explicit := strings.Cut(amount, "@")
	w.CPUs = scenario.Int(amount)
	if memory != "" {
		w.MemoryBytes = uint64(scenario.Int(memory)) << 30
	}
	if explicit {
		w.PerNode = map[topology.NodeID]int{}
		for node, n := range scenario.Pairs(counts) {
			w.PerNode[topology.NodeID(scenario.Int(node))] = scenario.Int(n)
		}
	}
	return w
}

// resize runs the script command `resize POD/CONTAINER CPUS`, which shrinks or grows a container to
// this number of CPUs.
func (s *scene) resize(c *scenario.Command) {
	uid, name, _ := strings.Cut(c.Arg(0), "/")
	n := scenario.Int(c.Arg(1))
	g, _ := s.ledger.Grant(uid)
	claim, _ := g.Claim(name)
	var err error
	if n < claim.CPUs.Len() {
		g, err = s.ledger.Shrink(uid, name, s.ledger.Keep(uid, name, n))
	} else {
		g, err = s.ledger.Grow(uid, name, n)
	}
	if err != nil {
		c.Error(err)
		return
	}
	claim, _ = g.Claim(name)
	c.Line("%-8s %s%s", name, claim.CPUs, leaving(claim))
}

func leaving(c pool.Claim) string {
	if c.Leaving.Empty() {
		return ""
	}
	return ", gives back " + c.Leaving.String()
}

// giveBack runs the script command `return POD`, which releases the CPUs that the pod's containers
// have given back.
func (s *scene) giveBack(c *scenario.Command) {
	before, _ := s.ledger.Grant(c.Arg(0))
	c.Line("back: %s", before.CPUs().Minus(s.ledger.Return(c.Arg(0)).CPUs()))
}

func (s *scene) release(c *scenario.Command) { c.Line("back: %s", s.ledger.Release(c.Arg(0))) }

// restart runs the script command `restart [reserved=CPUS]`, which makes a new ledger and restores
// every grant of the old one. The new ledger may have other reserved CPUs than the old one.
func (s *scene) restart(c *scenario.Command) {
	grants := s.ledger.Grants()
	if c.Has("reserved") {
		s.options.Reserved = c.CPUs("reserved")
	}
	c.Error(s.open())
	for _, g := range grants {
		c.Error(s.ledger.Restore(g))
	}
	for _, w := range s.ledger.Warnings() {
		c.Line("%s", w)
	}
}

// show runs the script command `show`, which draws the machine. It draws a CPU as the UID of the
// pod that holds it, as "·" if the CPU is free, and as "=" if it is shared and cannot become
// exclusive. All others, such as withheld and offline CPUs, are "-".
func (s *scene) show(c *scenario.Command) {
	err := picture.Draw(c, s.machine, nil, func(c cpuset.CPU) string {
		for _, g := range s.ledger.Grants() {
			if g.CPUs().Has(c) {
				return g.UID
			}
		}
		switch {
		case s.ledger.Free().Has(c):
			return "·"
		case s.ledger.Shared().Has(c):
			return "="
		}
		return "-"
	})
	c.Error(err)
	c.Line("\nshared %s  free %s", s.ledger.Shared(), s.ledger.Free())
}
