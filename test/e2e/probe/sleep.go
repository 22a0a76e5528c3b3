package main

import (
	"os"
	"os/signal"
	"syscall"
)

// sleep waits for a signal, and then ends. It uses no CPU time while it waits, so that a hundred
// such processes can run on an emulated node.
func sleep() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
}
