// Command probe is the program that the end-to-end tests run in containers and on the node.
//
//	probe run FILE [-for D] [-exit N] [-huge N]  samples its own allowed CPUs into FILE until it gets a signal
//	probe sleep                                  waits until it gets a signal
//	probe noise [-threads N -busy D -every D]    disturbs other programs until it gets a signal
//	probe watch [-root DIR]                      watches every container's effective cpuset on the node for overlaps
//	probe see [-for D]                           says in its termination message which GPUs, CPUs and memory nodes it has
//	probe show                                   prints the allowed CPUs of process 1, the first process of the container
//	probe ready                                  waits until the node's agent says that it is ready
//	probe metrics [HOST:PORT[/PATH] [TOKEN]]     prints the metrics of the node's agent, or of the program at HOST:PORT
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
		return fmt.Errorf("say run, sleep, noise, see, watch, show, ready or metrics")
	}
	switch args[0] {
	case "run":
		return run(args[1:])
	case "sleep":
		sleep()
		return nil
	case "noise":
		return noise(args[1:])
	case "see":
		return see(args[1:])
	case "watch":
		return watch(args[1:])
	case "show":
		cpus, err := allowed("/proc/1/status")
		fmt.Println(cpus)
		return err
	case "ready":
		return awaitReady()
	case "metrics":
		address, token := agentAddress, ""
		if len(args) > 1 {
			address = args[1]
		}
		if len(args) > 2 {
			token = args[2]
		}
		return metrics(os.Stdout, address, token)
	}
	return fmt.Errorf("%q is none of run, sleep, noise, see, watch, show, ready and metrics", args[0])
}
