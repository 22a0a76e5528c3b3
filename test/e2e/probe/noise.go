package main

import (
	"flag"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// noise runs threads that use the CPU for a while, again and again, until it gets a signal. Each
// thread sleeps in between, so the scheduler of the kernel can choose another CPU for it each time.
func noise(args []string) error {
	flags := flag.NewFlagSet("noise", flag.ContinueOnError)
	threads := flags.Int("threads", 8, "number of threads")
	busy := flags.Duration("busy", 2*time.Millisecond, "how long a thread uses the CPU")
	every := flags.Duration("every", 50*time.Millisecond, "how long a thread sleeps after that")
	if err := flags.Parse(args); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	for range *threads {
		go func() {
			runtime.LockOSThread()
			for {
				for until := time.Now().Add(*busy); time.Now().Before(until); {
				}
				// After this system call, the kernel wakes this thread directly. After time.Sleep,
				// the Go runtime would first run on another thread, and then hand over to this one.
				pause := syscall.NsecToTimespec(every.Nanoseconds())
				_ = syscall.Nanosleep(&pause, nil)
			}
		}()
	}
	<-stop
	return nil
}
