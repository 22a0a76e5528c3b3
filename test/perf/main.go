package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	Rig, Controller string // paths of the programs
	Nodes, Pods     int
	Waiting         int // number of pods that wait in some rounds and cannot be placed
	Steady          int // number of pods that are created one by one
	Pace            time.Duration
	Only            string // regular expression of the rounds to run
	Bounds          string
	Settings        string // flags of the controller, separated by blanks
	Profile         string // directory for the controller's profiles
	Keep            bool
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "client" {
		exit(client(os.Args[2:]))
	}
	var o options
	flag.StringVar(&o.Rig, "rig", "build/rig", "the rig's command")
	flag.StringVar(&o.Controller, "controller", "build/bin/numalet-controller", "the program under test")
	flag.IntVar(&o.Nodes, "nodes", 5000, "how many nodes there are")
	flag.IntVar(&o.Pods, "pods", 5000, "how many pods the backlog has")
	flag.IntVar(&o.Waiting, "waiting", 0, "if set, only plain pods and schedulers, without and with so many `pods` that cannot be placed: a third too large, a third that selects no node, a third that requires a neighbor that never comes")
	flag.IntVar(&o.Steady, "steady", 200, "how many pods come one by one after it")
	flag.DurationVar(&o.Pace, "pace", 20*time.Millisecond, "how long after each other they come")
	flag.StringVar(&o.Only, "only", "", "a regular expression of the `rounds` to run, such as 'numalet|floor'")
	flag.StringVar(&o.Bounds, "bounds", "", "a `file` of bounds to hold the result against")
	flag.StringVar(&o.Settings, "settings", "", "more `settings` of the controller, separated by blanks")
	flag.StringVar(&o.Profile, "profile", "", "a `directory` for profiles of the controller, of its time and of what it allocates, from before the backlog on")
	flag.BoolVar(&o.Keep, "keep", false, "leave the control plane and its logs at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(compare(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
