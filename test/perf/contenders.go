package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/numalet/numalet/test/hollowcluster"
)

// contender is a program that binds pods.
type contender struct {
	name      string
	scheduler string // spec.schedulerName; empty for a client that ignores it
	silent    bool   // it writes no events
	start     func(context.Context, *field) (started, error)
}

// started is a contender that is ready to begin.
type started struct {
	process *hollowcluster.Process
	fire    func(context.Context) (time.Time, error) // starts it, and returns when it began
	profile func(context.Context, string) error      // profiles the next seconds into a file; nil if that is impossible
}

func contenders() []contender {
	return []contender{
		{name: "floor, no events", silent: true, start: clientWith()},
		{name: "floor", start: clientWith("-events")},
		{name: "client with informers", start: clientWith("-events", "-informers")},
		{name: "kube-scheduler", scheduler: "default-scheduler", start: kubeScheduler},
		{name: "numalet", scheduler: "numalet-scheduler", start: numalet},
	}
}

// skip reports whether a contender does not bind such pods: only Numalet knows NUMA nodes. If
// pods wait in some rounds, only schedulers take part.
func (c contender) skip(l load, waiting int) bool {
	return l.name == "single" && c.name != "numalet" || waiting > 0 && c.scheduler == ""
}

// clientWith starts this program as a client.
func clientWith(flags ...string) func(context.Context, *field) (started, error) {
	return func(_ context.Context, f *field) (started, error) {
		self, err := os.Executable()
		if err != nil {
			return started{}, err
		}
		args := append([]string{"client", "-kubeconfig", f.plane.Kubeconfig,
			"-nodes", fmt.Sprint(f.Nodes), "-pods", fmt.Sprint(f.Pods)}, flags...)
		process, err := f.plane.Start("client", self, args...)
		fire := func(context.Context) (time.Time, error) { return time.Now(), process.Signal(syscall.SIGUSR1) }
		return started{process: process, fire: fire}, err
	}
}

// schedulerConfig is kube-scheduler's default configuration without its rate limit of 50
// requests a second, which would otherwise determine the result.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 10000, burst: 10000}
leaderElection: {leaderElect: true, resourceNamespace: kube-system, resourceName: %s}
`

func kubeScheduler(ctx context.Context, f *field) (started, error) {
	l := lease{f.api, "kube-system", "kube-scheduler"}
	if err := l.hold(ctx); err != nil {
		return started{}, err
	}
	config := f.plane.File("scheduler.yaml")
	kubeconfig := f.plane.File("kube-scheduler.kubeconfig")
	if err := os.WriteFile(config, fmt.Appendf(nil, schedulerConfig, kubeconfig, l.name), 0o600); err != nil {
		return started{}, fmt.Errorf("write configuration of kube-scheduler: %w", err)
	}
	process, err := f.plane.Start("kube-scheduler", filepath.Join(f.plane.Bin, "kubeone"), "kube-scheduler",
		"--config="+config, "--secure-port=0")
	return started{process: process, fire: l.release}, err
}

func numalet(ctx context.Context, f *field) (started, error) {
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
