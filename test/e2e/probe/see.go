package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// see prints the GPUs, CPUs and memory nodes of its container, and sleeps for the time of -for. It
// also writes them to the container's termination message, which is in the pod's status after the
// container has ended. The text is:
//
//	gpus GPU-…,GPU-…
//	cpus 4-7
//	mems 1
func see(args []string) error {
	flags := flag.NewFlagSet("see", flag.ContinueOnError)
	life := flags.Duration("for", 0, "how long to sleep before the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	const status = "/proc/self/status"
	cpus, err := field(status, "Cpus_allowed_list")
	if err != nil {
		return err
	}
	mems, err := field(status, "Mems_allowed_list")
	if err != nil {
		return err
	}
	text := fmt.Sprintf("gpus %s\ncpus %s\nmems %s\n", gpus(os.Environ()), cpus, mems)
	fmt.Print(text)
	if err := os.WriteFile("/dev/termination-log", []byte(text), 0o644); err != nil {
		return err
	}
	time.Sleep(*life)
	return nil
}

// gpus returns the GPUs that the environment names: the value of NVIDIA_VISIBLE_DEVICES, or, if
// that is empty, the sorted values of all variables with the prefix CDI_.
func gpus(env []string) string {
	var visible string
	var devices []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "NVIDIA_VISIBLE_DEVICES":
			visible = value
		case strings.HasPrefix(name, "CDI_"):
			devices = append(devices, value)
		}
	}
	slices.Sort(devices)
	return cmp.Or(visible, strings.Join(devices, ","))
}
