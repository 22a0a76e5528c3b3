//go:build e2e

// Package e2e tests Numalet on a virtual machine with a real kubelet, containerd and runc. The
// kubelet has joined a real control plane. The machine has four NUMA nodes with the CPUs 0-3, 4-7,
// 8-11 and 12-15, and CPUs 0 and 1 are reserved for the system. Some tests need another machine.
// The machine for TestWide has two NUMA nodes with eight CPUs each. On the machine for the tests in
// nfv_test.go, CPUs 8 and 9 are reserved, too. `make e2e` prepares the machine and runs the tests.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

var (
	rigBin        = flag.String("rig", os.Getenv("RIG"), "the rig's command")
	controllerBin = flag.String("controller", "../../build/bin/numalet-controller", "the controller's program")
	flavour       = flag.String("flavour", "plain", "which machine: a flavour of test/cluster")
	kubeconfig    = flag.String("cluster", os.Getenv("KUBECONFIG"), "kubeconfig of the rig's control plane")
	churnPods     = flag.Int("pods", 40, "how many pods the churn makes")
	churnKills    = flag.Int("kills", 1, "how often the churn kills each of agent, containerd and kubelet")
	gpuPods       = flag.Int("gpu-pods", 8, "how many pods with GPUs come and go")
	mixedPods     = flag.Int("mixed-pods", 40, "how many pods with GPUs two schedulers bind to one node")
	disturbedFile = flag.String("disturbed", "", "the file to which TestLatencyIsolation writes its results")
	manyPods      = flag.Int("many-pods", 250, "how many pods with shared CPUs TestManyPods runs at a time")
	manyFor       = flag.Duration("many-for", 3*time.Minute, "how long TestManyPods replaces these pods")
	seed          = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the churn; a failure prints it")
)

var cluster *e2eutil.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if cluster, err = e2eutil.Connect(*kubeconfig, e2eutil.Rig{Bin: *rigBin, Flavour: *flavour}); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: no cluster (run `make e2e`):", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// start returns a context with the time limit of a test. It removes the records of containers of
// earlier tests, and deletes the test's pods when the test ends.
func start(t *testing.T, limit time.Duration, pods ...string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(func() {
		cancel()
		clean, stop := context.WithTimeout(context.Background(), 2*time.Minute)
		defer stop()
		if err := cluster.Delete(clean, pods...); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	must(t, cluster.Forget(ctx))
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
