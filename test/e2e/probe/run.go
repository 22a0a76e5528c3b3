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

// period is the time between two samples. It is short compared with the life of a pod, and long
// compared with the time that a sample takes in an emulated machine.
const period = 250 * time.Millisecond

// run writes a sample of its allowed CPUs to a file every 250 ms (the constant `period`). It ends
// when it gets a signal, or after the time that the flag -for gives. Before the first sample, it
// uses as many huge pages as the flag -huge gives.
func run(args []string) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	life := flags.Duration("for", 0, "end after this time; 0: end only at a signal")
	code := flags.Int("exit", 0, "exit status if the program ends after the time of -for")
	pages := flags.Int("huge", 0, "huge pages of 2 MiB to use")
	path := args[0]
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if err := useHugePages(*pages); err != nil {
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

// useHugePages allocates n huge pages of 2 MiB and writes to each. The process holds them until it
// ends.
func useHugePages(n int) error {
	if n == 0 {
		return nil
	}
	const size = 2 << 20
	pages, err := unix.Mmap(-1, 0, n*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB|unix.MAP_HUGE_2MB)
	if err != nil {
		return fmt.Errorf("map %d huge pages: %w", n, err)
	}
	for i := 0; i < len(pages); i += size {
		pages[i] = 1
	}
	return nil
}

// sample writes a record of the allowed CPUs. It reads the clock before and after it reads the
// CPUs, and writes both times. So the CPUs of the record were allowed at some moment between the
// two times.
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

// allowed returns the allowed CPUs in a status file: the field Cpus_allowed_list.
func allowed(path string) (string, error) { return field(path, "Cpus_allowed_list") }

// field returns a field of a file such as /proc/self/status (see proc(5)).
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
