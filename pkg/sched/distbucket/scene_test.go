package distbucket

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestScenarios runs the scripts testdata/*.txt. A bucket is the set of nodes whose coordinates
// begin with the same numbers, such as (5,*). The iterator of the original DistBuckets
// (buckets_test.go) searches the tree of buckets. The scripts use these commands:
//
//	index theta=2,3 [order=1,0]                       makes an Index
//	reserving theta=1,1                               makes a Reserving instead
//	add a(4,4) b(4,2)                                 adds nodes a and b with these free amounts
//	update a(1,2)                                     changes the free amounts of node a
//	remove a b                                        removes nodes a and b
//	reserve a(3,2) t1                                 reserves amounts of node a for task t1
//	release a t1                                      ends this reservation
//	tree                                              draws the buckets
//	walk leastfit (1,2) [of b,c] [seed=1] [after=a]   prints the buckets and nodes that the iterator
//	                                                  of the original DistBuckets visits
//	pick leastfit (1,2) [of b,c] [n=3] [task=t1] …    prints the nodes that a search returns
//	sees a t1                                         prints what is free on node a for task t1
//
// In the commands walk and pick, "of b,c" sets Query.Candidates, `seed` the seed of Query.Rand, and
// `after` the name in Query.After.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(*testing.T, *scenario.Answer) scenario.Commands { return new(scene).commands() })
}

// scene has the index that the commands of a scenario use.
type scene struct {
	x index
	r *Reserving // the same index as x, if it is a Reserving
}

// index has the methods that both Index and Reserving have.
type index interface {
	Add(Node) error
	Update(Node) error
	Remove(name string) error
}

// commands returns the functions that execute the commands of a scenario (see TestScenarios).
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"index":     s.index,
		"reserving": s.reserving,
		"add":       each(func(node Node) error { return s.x.Add(node) }),
		"update":    each(func(node Node) error { return s.x.Update(node) }),
		"remove":    each(func(node Node) error { return s.x.Remove(node.Name) }),
		"reserve":   s.reserve,
		"release":   func(c *scenario.Command) { c.Line("%t", s.r.Release(c.Arg(0), c.Opt(1))) },
		"tree":      s.tree,
		"walk":      s.walk,
		"pick":      s.pick,
		"sees":      s.sees,
	}
}

func (s *scene) index(c *scenario.Command) {
	x, err := New(config(c))
	s.x = x
	c.Error(err)
}

func (s *scene) reserving(c *scenario.Command) {
	r, err := NewReserving(config(c))
	s.x, s.r = r, r
	c.Error(err)
}

// reserve runs the script command `reserve a(3,2) t1`, which reserves the amounts (3,2) of node a
// for the task t1.
func (s *scene) reserve(c *scenario.Command) {
	n := node(c.Arg(0))
	c.Error(s.r.Reserve(n.Name, c.Opt(1), n.Free))
}

// sees runs the script command `sees a t1`, which prints the amounts that are free on node a for
// the task t1.
func (s *scene) sees(c *scenario.Command) {
	n := s.r.View().node(c.Arg(0), c.Opt(1))
	c.Line("%s%s", n.Name, show(n.Free))
}

func (s *scene) view() View { return s.x.(*Index).View() }

func config(c *scenario.Command) (made Config) {
	made.Theta = vector(c.Value("theta"))
	for _, d := range vector(c.Value("order")) {
		made.Order = append(made.Order, int(d))
	}
	return made
}

// walk runs the script command `walk`. It prints each bucket whose child buckets the iterator of
// the original DistBuckets visits for a query. It also prints each leaf bucket (nodes with equal
// coordinates) that the iterator returns, and the node of that leaf bucket that the policy chooses.
func (s *scene) walk(c *scenario.Command) {
	v := s.view()
	opened := map[string]bool{}
	it := v.leaves(queryOf(c), func(b Bucket) {
		opened[b.String()] = true
		c.Line("%s%s", strings.Repeat("  ", len(b.X)), b)
	})
	for leaf := it.Next(); leaf != nil; leaf = it.Next() {
		c.Line("%s%s → %s", strings.Repeat("  ", len(leaf.X)), leaf, name(it.Take(leaf)))
	}
	var closed []string
	for child := range v.Root().Children() {
		if !opened[child.String()] {
			closed = append(closed, child.String())
		}
	}
	c.Line("unexplored: %s", cmp.Or(strings.Join(closed, " "), "none"))
}

func (s *scene) pick(c *scenario.Command) {
	var out []string
	for _, n := range s.picked(queryOf(c), c.IntValue("n", 1)) {
		out = append(out, n.Name+show(n.Free))
	}
	c.Line("%s", cmp.Or(strings.Join(out, " "), "none"))
}

func (s *scene) picked(query Query, n int) []*Node {
	if s.r != nil {
		return s.r.View().pick(query, n)
	}
	return s.view().pick(query, n)
}

// queryOf returns the query in the arguments of a script command, such as "leastfit (1,2) of b,c
// seed=1 after=a task=t".
func queryOf(c *scenario.Command) (query Query) {
	policy, err := ParsePolicy(c.Arg(0))
	c.Error(err)
	query.Policy, query.Request, query.Task = policy, vector(strings.Trim(c.Arg(1), "()")), c.Value("task")
	if c.Opt(2) == "of" {
		query.Candidates = strings.Split(c.Arg(3), ",")
	}
	if c.Has("seed") {
		query.Rand = rand.New(rand.NewPCG(uint64(c.IntValue("seed", 0)), 0))
	}
	if c.Has("after") {
		query.After = cursorAfter(c.Value("after"))
	}
	return query
}

// The function `each` returns the function of a script command. For every node in the arguments of
// the command, this function calls `do`.
func each(do func(Node) error) func(*scenario.Command) {
	return func(c *scenario.Command) {
		for _, arg := range c.Args() {
			c.Error(do(node(arg)))
		}
	}
}

// node returns the node that a text such as "a(4,4)" or "a" describes. Without amounts, the node
// has only a name.
func node(text string) Node {
	name, free, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	return Node{Name: name, Free: vector(free)}
}

// tree runs the script command `tree`, which draws the tree of buckets, and prints the number of
// buckets and of leaf buckets.
func (s *scene) tree(c *scenario.Command) {
	buckets, leaves := draw(c, s.view().Root(), "")
	c.Line("%d buckets, %d leaves", buckets, leaves)
}

// draw draws a bucket and the buckets below it. It returns how many buckets it has drawn, and how
// many of them are leaf buckets.
func draw(out io.Writer, b Bucket, indent string) (buckets, leaves int) {
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

func show(vector Vector) string {
	return Bucket{X: vector, view: &View{space: &space{theta: vector}}}.String()
}

func name(n *Node) string {
	if n == nil {
		return "none fits"
	}
	return n.Name
}
