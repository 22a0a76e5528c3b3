package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// row is a pair of minor versions, as in --kubernetes and --containerd of the rig.
type row struct{ Kubernetes, Containerd string }

func (r row) String() string { return "Kubernetes " + r.Kubernetes + ", containerd " + r.Containerd }

// rows returns every Kubernetes version with the newest containerd, and every containerd version
// with the Kubernetes version of the project's modules.
func rows() []row {
	return []row{{"1.34", "2.4"}, {"1.35", "2.4"}, {"1.36", "2.4"}, {"1.37", "2.4"}, {"1.36", "2.0"}, {"1.36", "2.2"}}
}

// column is one kind of test.
type column struct {
	name    string
	command string
	machine bool // needs the node of the row; the others need a control plane alone
}

func columns() []column {
	onMachine := func(name, tests string) column {
		return column{name, `eval "$(build/rig env)" && go test -tags e2e -count=1 -v -timeout 80m ./test/e2e -rig $PWD/build/rig -flavour plain -run '^Test(` + tests + ")$'", true}
	}
	return []column{
		{"controller", "go test -tags e2e -count=1 -v -timeout 40m ./test/e2e/controller -skip TestUI", false},
		{"chart", "go -C deploy/release test -tags e2e -count=1 -v ./chart -run Install", false},
		onMachine("publish", "Publish"), onMachine("policies", "Policies|Mixed"), onMachine("give-back", "GiveBack"), onMachine("GPUs", "GPU"),
	}
}

// result is the newest outcome of a cell.
type result struct {
	row
	Column string
	Passed bool
	Commit string // the tree that was tested
	Date   string // when, in UTC
}

// load reads results; a missing file has none.
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

// keep writes a result in place of the older one of its cell.
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
