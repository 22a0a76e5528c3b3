// Command housestats prints figures about the style of the repository's Go code. They are the sizes
// of files and functions, the share of comments, the ratio of test code to other code, and names
// that are declared often. It leaves out generated code and packages that only tests use.
//
//	go run ./test/housestats [-root DIR]
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// smallFile is the number of lines below which a file counts as small.
const smallFile = 30

// An exported type is listed if more than commonTypes types of the repository have its name. A
// function is listed if more than commonFunctions functions have its name.
const (
	commonTypes     = 1
	commonFunctions = 5
)

func main() {
	root := flag.String("root", ".", "Root of the repository.")
	flag.Parse()
	s := stats{types: map[string]int{}, functions: map[string]int{}, bucket: &comments{}, all: &comments{}}
	if err := s.walk(*root); err != nil {
		fmt.Fprintln(os.Stderr, "housestats:", err)
		os.Exit(1)
	}
	s.print()
}

// comments has two counts: of the lines that are only comments, and of all lines that are not
// empty.
type comments struct{ comments, lines int }

func (c comments) percent() float64 { return 100 * float64(c.comments) / float64(max(1, c.lines)) }

type stats struct {
	files, functionLines []int // the number of lines of each file and of each function
	lines, testLines     int
	all, bucket          *comments
	types, functions     map[string]int // declarations by name
}

func (s *stats) walk(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "vendor") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		return s.file(path, filepath.ToSlash(rel))
	})
}

func (s *stats) file(path, rel string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	lines := strings.Count(string(text), "\n")
	switch {
	case ast.IsGenerated(f):
	case strings.HasSuffix(rel, "_test.go"):
		s.testLines += lines
	case forTests(rel):
	default:
		s.product(fset, f, string(text), rel, lines)
	}
	return nil
}

// forTests reports whether only tests use a file that is not a test itself. Files for which it
// returns true are not counted.
func forTests(rel string) bool {
	return strings.HasPrefix(rel, "test/") || strings.HasPrefix(rel, "internal/testutil/")
}

func (s *stats) product(fset *token.FileSet, f *ast.File, text, rel string, lines int) {
	s.files = append(s.files, lines)
	s.lines += lines
	var n comments
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			n.lines++
		}
		if strings.HasPrefix(line, "//") {
			n.comments++
		}
	}
	s.all.add(n)
	if strings.HasPrefix(rel, "pkg/sched/distbucket/") {
		s.bucket.add(n)
	}
	for _, d := range f.Decls {
		s.declaration(fset, d)
	}
}

func (c *comments) add(n comments) {
	c.comments += n.comments
	c.lines += n.lines
}

func (s *stats) declaration(fset *token.FileSet, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.functionLines = append(s.functionLines, fset.Position(d.End()).Line-fset.Position(d.Pos()).Line+1)
		if d.Recv == nil && d.Name.Name != "main" {
			s.functions[d.Name.Name]++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok && t.Name.IsExported() {
				s.types[t.Name.Name]++
			}
		}
	}
}

func (s *stats) print() {
	small := 0
	for _, file := range s.files {
		if file < smallFile {
			small++
		}
	}
	fmt.Printf("lines / files            %d / %d\n", s.lines, len(s.files))
	fmt.Printf("file: median / p95       %d / %d\n", quantile(s.files, .5), quantile(s.files, .95))
	fmt.Printf("files under %d lines     %.0f %%\n", smallFile, 100*float64(small)/float64(max(1, len(s.files))))
	fmt.Printf("function: median / p95   %d / %d\n", quantile(s.functionLines, .5), quantile(s.functionLines, .95))
	fmt.Printf("comment lines            %.0f %% (distbucket %.0f %%)\n", s.all.percent(), s.bucket.percent())
	fmt.Printf("test : code              %.2f\n", float64(s.testLines)/float64(max(1, s.lines)))
	fmt.Printf("exported types declared more than once: %s\n", common(s.types, commonTypes))
	fmt.Printf("functions declared more than %d times: %s\n", commonFunctions, common(s.functions, commonFunctions))
}

// quantile returns the q-quantile of n values. This is the value at index q·n after the values are
// sorted in ascending order, or the largest value if q is 1.
func quantile(values []int, q float64) int {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// common returns a list of the names that are declared more often than the given limit. The name
// with the most declarations comes first.
func common(names map[string]int, limit int) string {
	maps.DeleteFunc(names, func(_ string, n int) bool { return n <= limit })
	sorted := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		if names[a] != names[b] {
			return names[b] - names[a]
		}
		return strings.Compare(a, b)
	})
	var list []string
	for _, name := range sorted {
		list = append(list, fmt.Sprintf("%s %d", name, names[name]))
	}
	return strings.Join(list, ", ")
}
