package docstest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const samplePage = `# Title

Some text
    that is only indented.

Run this:

    make all      # a comment
    not a command
    kubectl get nodes

## Second

1. Save this as ` + "`a.yaml`" + `:

       kind: Pod

       spec: {}

2. Then:

       $ kubectl apply -f a.yaml
       pod/a created

       second paragraph
       $ echo done

Text.
`

func TestReadPage(t *testing.T) {
	got := ReadPage(samplePage)
	want := Page{
		Commands: []Command{
			{Section: "Title", Line: "make all"},
			{Section: "Title", Line: "kubectl get nodes"},
			{Section: "Second", Line: "kubectl apply -f a.yaml", Session: true, Output: "pod/a created\n\nsecond paragraph\n"},
			{Section: "Second", Line: "echo done", Session: true},
		},
		Files: map[string]string{"a.yaml": "kind: Pod\n\nspec: {}\n"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Page{}, Command{})); diff != "" {
		t.Errorf("ReadPage (-want +got):\n%s", diff)
	}
}

// TestText checks the text of a page after the outputs of a session have been changed. One of these
// outputs was empty before.
func TestText(t *testing.T) {
	p := ReadPage(samplePage)
	if diff := cmp.Diff(samplePage, p.Text()); diff != "" {
		t.Errorf("with the same outputs (-want +got):\n%s", diff)
	}
	p.Commands[2].Output, p.Commands[3].Output = "pod/a unchanged\n", "done\n\n"
	want := strings.NewReplacer("pod/a created\n\n       second paragraph", "pod/a unchanged", "echo done", "echo done\n       done").Replace(samplePage)
	if diff := cmp.Diff(want, p.Text()); diff != "" {
		t.Errorf("with other outputs (-want +got):\n%s", diff)
	}
	p.Commands[3].Output = "done\n"
	if diff := cmp.Diff(p.Commands[2:], ReadPage(want).Commands[2:], cmpopts.IgnoreUnexported(Command{})); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
}
