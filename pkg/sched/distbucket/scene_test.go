package distbucket

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestScenarios walks through testdata/*.txt:
//
//	index theta=2,3 [order=1,0]
//	add a(4,4) b(4,2) | update a(1,2) | remove a b
//	tree
//	walk leastfit (1,2) [of b,c] [seed=1] [after=a]    leaf after leaf, as defined
//	pick leastfit (1,2) [of b,c] [n=3] [task=t1] …     what the engine takes
//	reserving theta=1,1 | reserve a(3,2) t1 | release a t1
//	sees a t1                                          what a task sees of a node
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return new(scene) })
}

// scene is the index that a scenario talks about.
type scene struct {
	x index
	r *Reserving // the same, if it is one
}

// index is what Index and Reserving have in common.
type index interface {
	Add(Node) error
	Update(Node) error
	Remove(name string) error
}

// Run carries out one command line and returns what it prints.
func (s *scene) Run(words []string) string {
	commands := map[string]func(args []string) string{
		"index":  s.index,
		"add":    func(args []string) string { return each(args, func(n Node) error { return s.x.Add(n) }) },
		"update": func(args []string) string { return each(args, func(n Node) error { return s.x.Update(n) }) },
		"remove": func(args []string) string { return each(args, func(n Node) error { return s.x.Remove(n.Name) }) },
		"tree":   func([]string) string { return tally(s.view()) },
		"walk":   s.walk,
		"pick":   s.pick,

		"reserving": s.reserving,
		"reserve":   s.reserve,
		"release":   func(args []string) string { return fmt.Sprintln(s.r.Release(args[0], args[1])) },
		"sees":      s.sees,
	}
	command, ok := commands[words[0]]
	if !ok {
		return "unknown command\n"
	}
	return command(words[1:])
}

func (s *scene) index(args []string) string {
	x, err := New(config(args))
	s.x = x
	return text(err)
}

func (s *scene) reserving(args []string) string {
	r, err := NewReserving(config(args))
	s.x, s.r = r, r
	return text(err)
}

// reserve reads "a(3,2) t1".
func (s *scene) reserve(args []string) string {
	return each(args[:1], func(n Node) error { return s.r.Reserve(n.Name, strings.Join(args[1:], ""), n.Free) })
}

// sees prints what a task sees of a node.
func (s *scene) sees(args []string) string {
	n := s.r.View().Node(args[0], strings.Join(args[1:], ""))
	return n.Name + show(n.Free) + "\n"
}

func (s *scene) view() View { return s.x.(*Index).View() }

func config(args []string) (c Config) {
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "theta":
			c.Theta = vector(value)
		case "order":
			for _, d := range vector(value) {
				c.Order = append(c.Order, int(d))
			}
		}
	}
	return c
}

// walk prints the buckets that a query looks into, the leaves it yields, and the node taken in each.
func (s *scene) walk(args []string) string {
	q, _ := asks(args)
	var out strings.Builder
	v := s.view()
	opened := map[string]bool{}
	note := func(b Bucket) {
		opened[b.String()] = true
		fmt.Fprintf(&out, "%s%s\n", strings.Repeat("  ", len(b.X)), b)
	}
	it := v.leaves(q, note)
	for leaf := it.Next(); leaf != nil; leaf = it.Next() {
		fmt.Fprintf(&out, "%s%s → %s\n", strings.Repeat("  ", len(leaf.X)), leaf, name(it.Take(leaf)))
	}
	var closed []string
	for child := range v.Root().Children() {
		if !opened[child.String()] {
			closed = append(closed, child.String())
		}
	}
	return out.String() + "unexplored: " + cmp.Or(strings.Join(closed, " "), "none") + "\n"
}

func (s *scene) pick(args []string) string {
	q, n := asks(args)
	var out []string
	for _, node := range s.picked(q, n) {
		out = append(out, node.Name+show(node.Free))
	}
	return cmp.Or(strings.Join(out, " "), "none") + "\n"
}

func (s *scene) picked(q Query, n int) []*Node {
	if s.r != nil {
		return s.r.View().Pick(q, n)
	}
	return s.view().Pick(q, n)
}

// asks reads "leastfit (1,2) of b,c n=3 seed=1 after=a task=t".
func asks(args []string) (q Query, n int) {
	q.Rand, n = nil, 1
	for i, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "of":
			q.Candidates = strings.Split(args[i+1], ",")
		case "n":
			n, _ = strconv.Atoi(value)
		case "seed":
			seed, _ := strconv.ParseUint(value, 10, 64)
			q.Rand = rand.New(rand.NewPCG(seed, 0))
		case "after":
			q.After = cursorAfter(value)
		case "task":
			q.Task = value
		}
	}
	q.Policy, _ = ParsePolicy(args[0])
	q.Request = vector(strings.Trim(args[1], "()"))
	return q, n
}

// each applies do to nodes written as "a(4,4)", or as "a" where only the name counts.
func each(args []string, do func(Node) error) string {
	var out string
	for _, arg := range args {
		name, free, _ := strings.Cut(strings.TrimSuffix(arg, ")"), "(")
		out += text(do(Node{Name: name, Free: vector(free)}))
	}
	return out
}

// tally draws the tree and counts its buckets.
func tally(v View) string {
	var out strings.Builder
	buckets, leaves := draw(&out, v.Root(), "")
	fmt.Fprintf(&out, "%d buckets, %d leaves\n", buckets, leaves)
	return out.String()
}

// draw draws a bucket and what is below it.
func draw(out *strings.Builder, b Bucket, indent string) (buckets, leaves int) {
	if b.Leaf() {
		var names []string
		for n := range b.Nodes() {
			names = append(names, n.Name)
		}
		fmt.Fprintf(out, "%s  %s\n", b, strings.Join(names, " "))
		return 1, 1
	}
	fmt.Fprintln(out, b)
	children := slices.Collect(b.Children())
	for i, child := range children {
		branch, below := "├ ", "│ "
		if i == len(children)-1 {
			branch, below = "└ ", "  "
		}
		fmt.Fprint(out, indent, branch)
		inner, l := draw(out, child, indent+below)
		buckets, leaves = buckets+inner, leaves+l
	}
	return buckets + 1, leaves
}

func vector(list string) Vector {
	var v Vector
	for _, part := range strings.Split(list, ",") {
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			v = append(v, n)
		}
	}
	return v
}

func show(v Vector) string { return Bucket{X: v, view: &View{space: &space{theta: v}}}.String() }

func name(n *Node) string {
	if n == nil {
		return "none fits"
	}
	return n.Name
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}
