package main

import (
	"fmt"
	"io"
	"log"
	"net"
)

// forward listens for TCP connections at the address in the argument `service`. It forwards each
// connection to the address in the argument `target`. It returns only if it fails.
func forward(service, target string) error {
	l, err := net.Listen("tcp", service)
	if err != nil {
		return fmt.Errorf("forward %s: %w", service, err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return fmt.Errorf("forward %s: %w", service, err)
		}
		go join(c.(*net.TCPConn), target)
	}
}

func join(caller *net.TCPConn, target string) {
	defer caller.Close()
	c, err := net.Dial("tcp", target)
	if err != nil {
		log.Printf("forward to %s: %v", target, err)
		return
	}
	callee := c.(*net.TCPConn)
	defer callee.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		copyHalf(callee, caller)
	}()
	copyHalf(caller, callee)
	<-done
}

// copyHalf copies data from src to dst. When src has no more data, it closes dst for writing.
func copyHalf(dst, src *net.TCPConn) {
	_, _ = io.Copy(dst, src)
	_ = dst.CloseWrite()
}
