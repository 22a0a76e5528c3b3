//go:build e2e

// Package started runs commands of the documentation, as they are written there, on a cluster without
// Numalet. It uses only the files of a release, which the commands build in a clone of the repository.
// `make e2e-started` starts the cluster and runs the test.
package started

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/docstest"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

var (
	rigBin  = flag.String("rig", os.Getenv("RIG"), "absolute path of the rig's command")
	flavour = flag.String("flavour", "plain", "which machine: a flavour of test/cluster")
	rewrite = flag.Bool("rewrite", false, "write the outputs into the pages")
)

const repository = "../../.."

// commandTimeout is long enough to build a release with a cold build cache.
const commandTimeout = 15 * time.Minute

// reader runs commands as a reader of the documentation does, all in one working directory. The
// command cd in a page changes the working directory.
type reader struct {
	rig   e2eutil.Rig
	dir   string // the working directory
	tools string // a directory of PATH for the kubectl plugin; kubectl and helm have their caches in it
	path  string // PATH
}

// TestPages runs the commands of docstest.TriedSections. If a command fails, the rest of its section
// is skipped. TestPages compares the outputs with those on the page. With -rewrite, it writes the
// outputs into the page instead.
func TestPages(t *testing.T) {
	r := newReader(t)
	for _, tried := range docstest.TriedSections() {
		file := filepath.Join(repository, tried.Page)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := docstest.ReadPage(string(text))
		for _, section := range tried.Sections {
			t.Run(section, func(t *testing.T) { r.try(t, page, section) })
		}
		if *rewrite {
			if err := os.WriteFile(file, []byte(page.Text()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// newReader clones the repository, without uncommitted changes and without tags, and returns a reader
// whose working directory is the clone.
func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{rig: e2eutil.Rig{Bin: *rigBin, Flavour: *flavour}, dir: filepath.Join(t.TempDir(), "numalet"), tools: t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--no-tags", repository, r.dir).CombinedOutput(); err != nil {
		t.Fatalf("clone the repository: %v: %s", err, out)
	}
	helm, err := filepath.Abs(filepath.Join(repository, "build"))
	if err != nil {
		t.Fatal(err)
	}
	r.path = strings.Join([]string{r.tools, helm, os.Getenv("PATH")}, ":")
	return r
}

// try runs the commands of a section, and saves the files that they name.
func (r *reader) try(t *testing.T, page docstest.Page, section string) {
	ran := false
	for i := range page.Commands {
		c := &page.Commands[i]
		if c.Section != section {
			continue
		}
		ran = true
		for name, text := range page.Files {
			if strings.Contains(c.Line, name) {
				r.save(t, name, text)
			}
		}
		output := r.run(t, c.Line)
		switch {
		case !c.Session:
		case *rewrite:
			c.Output = output
		default:
			if diff := cmp.Diff(docstest.Stable(c.Output), docstest.Stable(output)); diff != "" {
				t.Errorf("output of %s (-want +got):\n%s", c.Line, diff)
			}
		}
	}
	if !ran {
		t.Error("the section has no commands")
	}
}

// onRig replaces those parts of a command or file of a page that must be different on the test
// cluster. The node of the cluster has no registry: images are loaded through the rig, and the
// image of busybox has another name. The kubectl plugin must not stay on the machine that runs the
// test.
func (r *reader) onRig(text string) string {
	return strings.NewReplacer(
		"ctr -n k8s.io images import", r.rig.Bin+" load --flavour "+r.rig.Flavour,
		"busybox:stable", "localhost/busybox:rig",
		"/usr/local/bin", r.tools,
		"NODE", r.rig.Node(),
	).Replace(text)
}

func (r *reader) save(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(r.onRig(text)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command, and returns its output. If the command fails, the test of the section ends.
func (r *reader) run(t *testing.T, line string) string {
	t.Helper()
	if dir, ok := strings.CutPrefix(line, "cd "); ok {
		r.dir = filepath.Join(r.dir, dir)
		return ""
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", r.onRig(line))
	cmd.Dir, cmd.WaitDelay = r.dir, 10*time.Second
	// kubectl and helm must not use what they know about earlier clusters at the same address.
	cmd.Env = append(os.Environ(), "PATH="+r.path, "KUBECACHEDIR="+r.tools, "HELM_CACHE_HOME="+r.tools, "HELM_CONFIG_HOME="+r.tools, "HELM_DATA_HOME="+r.tools)
	began := time.Now()
	output, err := cmd.CombinedOutput()
	t.Logf("%.1f s  $ %s\n%s", time.Since(began).Seconds(), cmd.Args[2], output)
	if err != nil {
		state, _ := exec.Command("kubectl", "get", "pods,events", "--all-namespaces", "--output=wide").CombinedOutput()
		t.Fatalf("%s: %v; pods and events of the cluster:\n%s", line, err, state)
	}
	return string(output)
}
