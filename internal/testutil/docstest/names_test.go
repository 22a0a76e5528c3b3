package docstest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestReferenceOfNames checks that the reference page of annotations and labels agrees with the
// constants of api/v1alpha1/names.go and their comments.
func TestReferenceOfNames(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Annotations and labels\n\nThis page is generated from the constants of `api/v1alpha1/names.go`; `make generate` writes it. A pod with any other\n" +
		"annotation under `numalet.dev/` is refused, so that a misspelt name does not go unnoticed.\n")
	for _, block := range constants(t, root+"/api/v1alpha1/names.go") {
		rows := ""
		for _, c := range block.constants {
			kind, ok := kindOfName(c.name)
			if ok {
				rows += fmt.Sprintf("| `%s` | %s | %s |\n", c.value, kind, cell(c.comment))
			}
		}
		if rows != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| name | kind | meaning |\n|---|---|---|\n%s", strings.TrimSuffix(block.comment, "."), rows)
		}
	}
	fmt.Fprintf(&b, "\n## Resources\n\n| name | meaning |\n|---|---|\n"+
		"| `%s` | exclusive CPUs of NUMA node 1. The capacity is all CPUs of the NUMA node. Allocatable CPUs are those that are not reserved. For free CPUs see `kubectl get nodetopologies` |\n"+
		"| `nvidia.com/gpu` | whole GPUs. The device plugin's flag `--gpu-resource` changes the name |\n| `nvidia.com/gpu.shared` | shares of GPUs, if the device plugin has the flag `--gpu-shares` |\n| `nvidia.com/mig-1g.10gb` | MIG slices with the profile 1g.10gb |\n",
		v1alpha1.NUMAResource(1))
	scenario.Golden(t, root+"/docs/reference/annotations.md", b.String())
}

// kindOfName returns what a constant of api/v1alpha1/names.go names: "annotation" or "label". The
// identifier of the constant starts with this word. For any other constant, the result `ok` is
// false.
func kindOfName(name string) (kind string, ok bool) {
	switch {
	case strings.HasPrefix(name, "Annotation"):
		return "annotation", true
	case strings.HasPrefix(name, "Label"):
		return "label", true
	}
	return "", false
}

// block is a group of constants with a comment.
type block struct {
	comment   string
	constants []constant
}

// constant is a constant of a Go file. The field `comment` is the comment above the constant or at
// the end of its line, without the constant's name. The field `value` is the constant's value. It
// is complete only if the constant's expression consists of literals and of v1alpha1.Group, the API
// group with which names of annotations and labels begin: other parts of the expression are left
// out.
type constant struct{ name, value, comment string }

// constants returns the blocks of constants of a Go file.
func constants(t *testing.T, file string) (blocks []block) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		b := block{comment: line(gen.Doc.Text())}
		for _, s := range gen.Specs {
			spec := s.(*ast.ValueSpec)
			comment := line(spec.Doc.Text() + spec.Comment.Text())
			name := spec.Names[0].Name
			c := constant{name: name, comment: capital(strings.TrimPrefix(strings.TrimPrefix(comment, name+" "), "is "))}
			if len(spec.Values) == 1 {
				c.value = value(spec.Values[0])
			}
			b.constants = append(b.constants, c)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// value returns the value of a constant's expression.
func value(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strings.Trim(e.Value, `"`)
	case *ast.BinaryExpr:
		return value(e.X) + value(e.Y)
	case *ast.Ident:
		if e.Name == "Group" {
			return v1alpha1.Group
		}
	}
	return ""
}

// cell escapes a text for a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
