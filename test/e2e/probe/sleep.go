package main

import (
	"os"
	"os/signal"
	"syscall"
)

// sleep waits for a signal to end. It uses no CPU time meanwhile, so that a hundred such processes
// can run on an emulated node.
func sleep() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
}
