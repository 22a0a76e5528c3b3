// Command probe is what the end-to-end tests run inside containers and beside
// them on the node.
//
//	probe run FILE [-for D] [-exit N]   samples its own allowed CPUs into FILE until it is told to stop
//	probe watch [-root DIR]             watches every container's effective cpuset on the node for overlaps
//	probe show                          prints the allowed CPUs of process 1, the container's own
//	probe ready                         waits until the node's agent says that it is ready
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := dispatch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say run, watch, show or ready")
	}
	switch args[0] {
	case "run":
		return run(args[1:])
	case "watch":
		return watch(args[1:])
	case "show":
		cpus, err := allowed("/proc/1/status")
		fmt.Println(cpus)
		return err
	case "ready":
		return awaitReady("127.0.0.1:8123")
	}
	return fmt.Errorf("%q is none of run, watch, show and ready", args[0])
}
