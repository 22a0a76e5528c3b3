package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/numalet/numalet/test/hollowcluster"
)

// contender is a program that binds pods and whose speed is measured.
type contender struct {
	name      string
	scheduler string // spec.schedulerName; empty for a client that ignores it
	silent    bool   // whether it writes no events
	start     func(context.Context, *field, load) (started, error)
}

// These are the names of the contenders that the tables and bounds compare with other contenders.
const (
	floorName = "floor"
	kubeName  = "kube-scheduler"
	ourName   = "numalet"
)

// started is a contender whose process runs. It waits for the signal to begin to bind pods.
type started struct {
	process *hollowcluster.Process
	fire    func(context.Context) (time.Time, error) // lets the contender begin to bind pods, and returns the time at which it began
	profile func(context.Context, string) error      // writes profiles of the next seconds to files; nil if the contender cannot be profiled
}

func contenders() []contender {
	return append([]contender{
		{name: "floor, no events", silent: true, start: clientWith()},
		{name: floorName, start: clientWith("-events")},
		{name: "client with informers", start: clientWith("-events", "-informers")},
	}, append(kubeSchedulers(), contender{name: ourName, scheduler: "numalet-scheduler", start: numalet})...)
}

// clientWith returns a function that starts this program as a client (perf client) with the given
// flags. If the pods of the load request a GPU, its Bindings have a placement, as those of Numalet
// have. The client has the token of the controller's service account. So the API server
// authenticates the client in the same way as the controller, and applies the same admission
// policies to its writes.
func clientWith(flags ...string) func(context.Context, *field, load) (started, error) {
	return func(ctx context.Context, f *field, l load) (started, error) {
		self, err := os.Executable()
		if err != nil {
			return started{}, err
		}
		kubeconfig, err := f.plane.Account(ctx, "numalet-system", "numalet-controller")
		if err != nil {
			return started{}, err
		}
		args := append([]string{"client", "-kubeconfig", kubeconfig,
			"-nodes", fmt.Sprint(f.Nodes), "-pods", fmt.Sprint(f.Pods), fmt.Sprintf("-placements=%t", l.name == gpuLoad)}, flags...)
		process, err := f.plane.Start("client", self, args...)
		fire := func(context.Context) (time.Time, error) { return time.Now(), process.Signal(syscall.SIGUSR1) }
		return started{process: process, fire: fire}, err
	}
}

func numalet(ctx context.Context, f *field, _ load) (started, error) {
	l := lease{f.api, "numalet-system", "numalet-controller"}
	if err := l.hold(ctx); err != nil {
		return started{}, err
	}
	c, err := f.plane.StartController(ctx, "controller", f.Controller, append(strings.Fields(f.Settings), "--profiling")...)
	if err != nil {
		return started{}, err
	}
	return started{process: c.Process, fire: l.release, profile: c.Profile}, c.AwaitReady(ctx)
}
