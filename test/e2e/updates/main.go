// Command updates is an NRI plugin that moves containers as the agent does not: by updates in its
// answer to the creation of another container, which the runtime carries out one after another
// before it continues. The agent's own writes are compared with it
// (docs/benchmarks/logs/performance.md).
//
//	updates POD [CPUS...]
//
// The first container that is created outside the pod moves all containers of
// the pod to the first CPUS, the second one to the second, and those after the
// last CPUS none. A line is printed for each, as
//
//	created <ns> <containers moved> <CPUS, or none>
//
// with the time from the answer until the runtime reports that the container was created. Before
// these lines is "synchronized <containers of the pod>".
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
