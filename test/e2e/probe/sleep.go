package main

import (
	"os"
	"os/signal"
	"syscall"
)

// sleep waits to be told to stop. It costs a node nothing meanwhile, so a
// hundred of them fit on an emulated one.
func sleep() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
}
