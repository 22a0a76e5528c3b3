// Command demo shows the main functions of Numalet on the test cluster (test/cluster). It shows
// what the node publishes, pods of each CPU policy, the CPUs that their containers get, and that
// these CPUs become shared again when the pods are deleted. Then it shows how two tenants share the
// node, and a pod with fake GPUs. `make demo` prepares the cluster and runs the demo.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

func main() {
	rig := flag.String("rig", os.Getenv("RIG"), "path of the program rig (test/cluster)")
	flavour := flag.String("flavour", "plain", "flavour (kind of machine): plain or systemd")
	kubeconfig := flag.String("cluster", os.Getenv("KUBECONFIG"), "path of the kubeconfig of the test cluster")
	bin := flag.String("numalet", "build/bin/numalet", "path of the command line tool numalet")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	cluster, err := e2eutil.Connect(*kubeconfig, e2eutil.Rig{Bin: *rig, Flavour: *flavour})
	if err == nil {
		err = demo{cluster, *bin}.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
