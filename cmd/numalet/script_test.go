package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"numalet": main})
}

// TestScript runs the scripts of testdata/script, which call the command numalet and compare its
// output. The scripts also show how to use this command.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: scenario.Rewrite(),
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// status runs the script command "status N COMMAND…", which runs COMMAND and checks
// that its exit status is N.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			ts.Fatalf("run %v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v ended with exit status %d, want %d", args[1:], got, want)
	}
}
