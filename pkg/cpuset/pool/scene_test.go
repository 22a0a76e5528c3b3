package pool_test

import (
	"cmp"
	"fmt"
	"strconv"
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

// TestScenarios walks through testdata/*.txt:
//
//	machine packages=2 cores=4 smt=2 [nodes=1 caches=1 reserved=0,8 full-cores …]
//	pod a spread app=4 init:i=2 sidecar:s=1 [app=2@numa0:2 app=2@1GiB]
//	release a | restart [reserved=0-3] | show
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return new(scene) })
}

// scene is where a scenario takes place.
type scene struct {
	machine *topology.Machine
	options pool.Options
	ledger  *pool.Ledger
}

// Run obeys one command and returns the answer.
func (s *scene) Run(command []string) string {
	commands := map[string]func(args []string) string{
		"machine": s.build, "pod": s.pod, "release": s.release, "restart": s.restart, "show": s.show,
	}
	do, ok := commands[command[0]]
	if !ok {
		return "no such command\n"
	}
	return do(command[1:])
}

func (s *scene) build(args []string) string {
	a := settings(args)
	b := machinetest.Machine(a.number("packages", 1), a.number("cores", 4)).
		SMT(a.number("smt", 1)).NodesPerPackage(a.number("nodes", 1)).CachesPerNode(a.number("caches", 1)).
		Memory(uint64(a.number("GiB", 16)) << 30).Offline(a["offline"]).Isolated(a["isolated"]).Homeless(a["homeless"])
	if eco := a["efficiency"]; eco != "" {
		b = b.Efficiency(eco)
	}
	s.machine = b.Build()
	_, full := a["full-cores"]
	s.options = pool.Options{FullCores: full}
	return s.open(a["reserved"])
}

// open starts an empty ledger.
func (s *scene) open(reserved string) (answer string) {
	s.options.Reserved = cpuset.MustParse(reserved)
	l, err := pool.New(s.machine, s.options)
	if err != nil {
		return err.Error() + "\n"
	}
	s.ledger = l
	return ""
}

func (s *scene) pod(args []string) string {
	p := pool.Pod{UID: args[0]}
	for _, arg := range args[1:] {
		if policy, err := podspec.ParsePolicy(arg); err == nil {
			p.Policy = policy
			continue
		}
		p.Containers = append(p.Containers, want(arg))
	}
	g, err := s.ledger.Reserve(p)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, c := range g.Claims {
		fmt.Fprintf(&b, "%-8s %s%s\n", c.Container, c.CPUs, mems(c))
	}
	return b.String()
}

func mems(c pool.Claim) string {
	if c.Mems == nil {
		return ""
	}
	return fmt.Sprintf("  mems %v, %d GiB", c.Mems, c.MemoryBytes>>30)
}

// want reads "[kind:]name=CPUs[@node:CPUs,…][/GiB]".
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
	w.CPUs, _ = strconv.Atoi(amount)
	gib, _ := strconv.Atoi(memory)
	w.MemoryBytes = uint64(gib) << 30
	if explicit {
		w.PerNode = map[topology.NodeID]int{}
		for pair := range strings.SplitSeq(counts, ",") {
			node, n, _ := strings.Cut(pair, ":")
			id, _ := strconv.Atoi(node)
			w.PerNode[topology.NodeID(id)], _ = strconv.Atoi(n)
		}
	}
	return w
}

func (s *scene) release(args []string) string {
	return fmt.Sprintf("back: %s\n", s.ledger.Release(args[0]))
}

// restart restores every grant into a new ledger, with other reserved or
// offline CPUs if the command says so.
func (s *scene) restart(args []string) string {
	a := settings(args)
	grants := s.ledger.Grants()
	var b strings.Builder
	b.WriteString(s.open(cmp.Or(a["reserved"], s.options.Reserved.String())))
	for _, g := range grants {
		if err := s.ledger.Restore(g); err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	for _, w := range s.ledger.Warnings() {
		fmt.Fprintln(&b, w)
	}
	return b.String()
}

// show draws the machine with the name of the pod that holds each CPU, "·" for
// one that is free and "=" for one that stays shared.
func (s *scene) show([]string) string {
	var b strings.Builder
	err := picture.Draw(&b, s.machine, nil, func(c cpuset.CPU) string {
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
	if err != nil {
		return err.Error() + "\n"
	}
	fmt.Fprintf(&b, "\nshared %s  free %s\n", s.ledger.Shared(), s.ledger.Free())
	return b.String()
}

// args are a command's "key=value" words.
type args map[string]string

func settings(words []string) args {
	a := args{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		a[key] = value
	}
	return a
}

func (a args) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(a[key]); err == nil {
		return n
	}
	return otherwise
}
