// Command matrix runs the end-to-end tests with each version of Kubernetes and containerd, and
// writes the table of docs/reference/tested.md:
//
//	matrix                              # every cell, which takes hours on 2 CPUs
//	matrix -kubernetes 1.34 -columns controller,chart
//	matrix -table                       # runs nothing, writes the table anew
//
// Run this command in the root of the repository. A cell of the table is one group of tests with
// one pair of versions. test/matrix/results.json has the newest outcome of each cell and its
// commit, so the cells can be run at different times.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	resultsFile = "test/matrix/results.json"
	page        = "docs/reference/tested.md"
	logs        = "build/matrix"
)

func main() {
	kubernetes := flag.String("kubernetes", "", "run only the rows with this minor version of Kubernetes")
	containerd := flag.String("containerd", "", "run only the rows with this minor version of containerd")
	names := flag.String("columns", "", "run only these columns, separated by commas")
	table := flag.Bool("table", false, "run nothing, and write the table anew from the stored results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok := true
	if !*table {
		for _, r := range rows() {
			if (*kubernetes == "" || r.Kubernetes == *kubernetes) && (*containerd == "" || r.Containerd == *containerd) {
				ok = runRow(ctx, r, chosen(*names)) && ok
			}
		}
	}
	results, err := load(resultsFile)
	check(err)
	check(replaceTable(page, render(results)))
	fmt.Print(render(results))
	if !ok {
		os.Exit(1)
	}
}

func chosen(names string) []column {
	if names == "" {
		return columns()
	}
	return slices.DeleteFunc(columns(), func(c column) bool { return !slices.Contains(strings.Split(names, ","), c.name) })
}

// runRow runs columns of a row and stores the outcome of each. It leaves out the columns that an
// earlier row runs (see firstOfKubernetes). It starts the virtual machine before the first column
// that needs it.
func runRow(ctx context.Context, r row, columns []column) (ok bool) {
	ok = true
	machine := false
	for _, c := range columns {
		if !c.machine && !r.firstOfKubernetes() {
			continue
		}
		if c.machine && !machine {
			machine = true
			if err := run(ctx, r, "machine", "build/rig down && test/e2e/install plain"); err != nil {
				fmt.Fprintln(os.Stderr, r, "machine:", err)
				return false
			}
		}
		err := run(ctx, r, c.name, c.command)
		check(keep(resultsFile, result{row: r, Column: c.name, Passed: err == nil, Commit: commit(), Date: time.Now().UTC().Format(time.DateOnly)}))
		ok = ok && err == nil
	}
	return ok
}

// run runs a shell command line with the versions of a row in the environment. It writes the output
// to a log file.
func run(ctx context.Context, r row, name, line string) error {
	dir := filepath.Join(logs, r.Kubernetes+"-"+r.Containerd)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Env = append(os.Environ(), "KUBERNETES="+r.Kubernetes, "CONTAINERD="+r.Containerd)
	cmd.Stdout, cmd.Stderr = log, log
	start := time.Now()
	err = cmd.Run()
	fmt.Fprintf(os.Stderr, "%s %s: %s after %s: %s\n", r, name, outcome(err == nil), time.Since(start).Round(time.Second), log.Name())
	return err
}

// commit returns the commit of the working tree. The suffix -dirty says that files have changed
// since the commit. Changes of the two files that this command writes do not count.
func commit() string {
	head := git("rev-parse", "--short=8", "HEAD")
	if git("status", "--porcelain", "--", ".", ":!"+resultsFile, ":!"+page) != "" {
		return head + "-dirty"
	}
	return head
}

func git(args ...string) string {
	out, err := exec.Command("git", args...).Output()
	check(err)
	return strings.TrimSpace(string(out))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}
