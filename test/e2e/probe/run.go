package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// period between two samples: short against a pod's life, long against the
// cost of a sample in an emulated machine.
const period = 250 * time.Millisecond

// run appends "sample <CLOCK_BOOTTIME ns> <cpu list>" to a file every period.
func run(args []string) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	life := flags.Duration("for", 0, "stop after this long; 0: when told to")
	code := flags.Int("exit", 0, "exit status after -for")
	path := args[0]
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	var end <-chan time.Time
	if *life > 0 {
		end = time.After(*life)
	}
	for tick := time.Tick(period); ; {
		if err := sample(out); err != nil {
			return err
		}
		select {
		case <-stop:
			return sample(out)
		case <-end:
			os.Exit(*code)
		case <-tick:
		}
	}
}

// sample reads the clock before and after the CPUs, and writes the earlier
// time: a set seen at t was in force at some moment not before t.
func sample(out *os.File) error {
	before, err := boottime()
	if err != nil {
		return err
	}
	cpus, err := allowed("/proc/self/status")
	if err != nil {
		return err
	}
	after, err := boottime()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "sample %d %d %s\n", before, after, cpus)
	return err
}

func boottime() (int64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("clock_gettime: %w", err)
	}
	return now.Nano(), nil
}

// allowed returns the Cpus_allowed_list of a status file.
func allowed(path string) (string, error) { return field(path, "Cpus_allowed_list") }

// field returns a field of a status file (proc(5)).
func field(path, name string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s has no %s", path, name)
}
