// Command updates is an NRI plugin that changes the CPUs of running containers. When another
// container is created, the plugin's response asks the runtime to update these containers. The
// runtime carries out the updates one after another before it continues. Numalet's agent does not
// use such updates: it writes to the cgroups itself. A benchmark compares the two ways
// (docs/benchmarks/logs/performance.md).
//
//	updates POD [CPUS...]
//
// The arguments are the name of a pod and CPU sets. When the first container outside the pod is
// created, the plugin moves all containers of the pod to the first CPU set. When the second one is
// created, the plugin moves them to the second CPU set, and so on. After the last CPU set, the
// plugin moves no container. For each created container it prints a line
//
//	created <ns> <containers moved> <CPUS, or none>
//
// with the time from the plugin's response until the runtime reports that the container was
// created. The first line of the output is "synchronized <number of containers of the pod>".
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/containerd/nri/pkg/stub"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "updates:", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say which pod's containers to move")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s, err := stub.New(newPlugin(args[0], args[1:], os.Stdout), stub.WithPluginName("updates"), stub.WithPluginIdx("50"))
	if err != nil {
		return fmt.Errorf("create NRI plugin: %w", err)
	}
	if err := s.Run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the container runtime: %w", err)
	}
	return nil
}
