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

// options are the values of the flags.
type options struct {
	Rig, Controller string // paths of the programs
	Nodes, Pods     int
	Fill            fills         // empty for an empty cluster
	Waiting         int           // number of pods that wait in some rounds and fit no node
	Steady          int           // number of pods that are created one by one
	Pace            time.Duration // time between the creations of two of these pods
	Limit           time.Duration
	Repeat          int
	Only            string // regular expression of the rounds to run
	Bounds          string
	Settings        string // additional flags of the controller, separated by spaces
	Profile         string // directory for the controller's profiles
	Keep            bool
}

// busy reports whether the cluster is not empty.
func (o options) busy() bool { return len(o.Fill) > 0 }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "client" {
		exit(client(os.Args[2:]))
	}
	var o options
	flag.StringVar(&o.Rig, "rig", "build/rig", "path of the program rig (test/cluster), which starts the control plane")
	flag.StringVar(&o.Controller, "controller", "build/bin/numalet-controller", "path of numalet-controller")
	flag.IntVar(&o.Nodes, "nodes", 5000, "number of nodes")
	flag.IntVar(&o.Pods, "pods", 5000, "number of pods in the backlog")
	flag.TextVar(&o.Fill, "fill", o.Fill, "`percentages` to which the nodes are full, such as 50,95; a tenth of the nodes then have a taint, and a fifth of the pods have affinity or spread. Empty: an empty cluster with plain pods, pods with a GPU, and pods with exclusive CPUs")
	flag.IntVar(&o.Waiting, "waiting", 0, "with -fill, also run rounds in which this number of `pods` wait that fit no node: a third request too many CPUs, a third have a nodeSelector that matches no node, and a third require affinity to a pod that never exists; for Numalet also a gang with one member too many")
	flag.IntVar(&o.Steady, "steady", 200, "number of pods that are created one by one after the backlog")
	flag.DurationVar(&o.Pace, "pace", 20*time.Millisecond, "time between the creations of two of the pods of -steady")
	flag.DurationVar(&o.Limit, "limit", 175*time.Second, "how long a contender may take to bind the backlog; after that time it is stopped, and its rate until then is its result")
	flag.IntVar(&o.Repeat, "repeat", 1, "number of times that all rounds are run, one after the other; the rates and CPU times in the results are medians")
	flag.StringVar(&o.Only, "only", "", "a regular expression of the `rounds` to run, such as 'numalet|floor'; if empty, the rounds of make perf and make perf-busy are run")
	flag.StringVar(&o.Bounds, "bounds", "", "a `file` of bounds that the results must meet")
	flag.StringVar(&o.Settings, "settings", "", "additional flags (`settings`) of the controller, separated by spaces")
	flag.StringVar(&o.Profile, "profile", "", "a `directory` for CPU and allocation profiles of the controller, from the creation of the backlog on")
	flag.BoolVar(&o.Keep, "keep", false, "do not stop the control plane and do not delete its logs at the end")
	flag.Parse()
	if o.Waiting > 0 && !o.busy() {
		exit(fmt.Errorf("-waiting %d: give -fill, too: pods wait in busy clusters only", o.Waiting))
	}
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
