package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// row is a row of the table: a pair of minor versions, which are values of the flags --kubernetes
// and --containerd of the program `rig` (test/cluster).
type row struct{ Kubernetes, Containerd string }

func (r row) String() string { return "Kubernetes " + r.Kubernetes + ", containerd " + r.Containerd }

// rows returns every Kubernetes version with the newest containerd, and every containerd version
// with the default Kubernetes version, which the modules of the repository require.
func rows() []row {
	return []row{{"1.34", "2.4"}, {"1.35", "2.4"}, {"1.36", "2.4"}, {"1.37", "2.4"}, {"1.36", "2.0"}, {"1.36", "2.2"}}
}

// firstOfKubernetes says whether no earlier row has the same version of Kubernetes. Of the rows
// with the same version of Kubernetes, only the first row runs the tests that need no virtual
// machine. These tests use no containerd, so their outcome holds for all these rows (see cell).
func (r row) firstOfKubernetes() bool {
	return r == rows()[slices.IndexFunc(rows(), func(other row) bool { return other.Kubernetes == r.Kubernetes })]
}

// column is a column of the table: a group of tests.
type column struct {
	name    string
	command string
	machine bool // whether the tests need a virtual machine with the versions of the row, and not only a control plane
}

func columns() []column {
	onMachine := func(name, tests string) column {
		return column{name, `eval "$(build/rig env)" && go test -tags e2e -count=1 -v -timeout 80m ./test/e2e -rig $PWD/build/rig -flavour plain -run '^Test(` + tests + ")$'", true}
	}
	return []column{
		{"controller", "go test -tags e2e -count=1 -v -timeout 40m ./test/e2e/controller -skip 'TestUI|TestBeside'", false},
		{"chart", "go -C deploy/release test -tags e2e -count=1 -v ./chart -run Install", false},
		onMachine("publish", "Publish"), onMachine("policies", "Policies|Mixed"), onMachine("give-back", "GiveBack"), onMachine("GPUs", "GPU"),
	}
}

// result is the newest outcome of one cell of the table.
type result struct {
	row
	Column string
	Passed bool
	Commit string // the commit that was tested
	Date   string // of the test run, in UTC
}

// load reads results from a file. It returns none if the file does not exist.
func load(file string) (results []result, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &results); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return results, nil
}

// keep writes a result to a file. The new result replaces the older result of the same cell, if
// there is one.
func keep(file string, new result) error {
	results, err := load(file)
	if err != nil {
		return err
	}
	results = slices.DeleteFunc(results, func(r result) bool { return r.row == new.row && r.Column == new.Column })
	data, err := json.MarshalIndent(append(results, new), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
