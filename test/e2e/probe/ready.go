package main

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// awaitReady asks the agent's /readyz until it answers 200. It speaks plain
// HTTP/1.0, for want of wget on one kind of node and to keep this program small.
func awaitReady(address string) error {
	last := "no answer"
	for range 900 {
		if status, err := get(address, "/readyz"); err != nil {
			last = err.Error()
		} else if strings.Contains(status, " 200 ") {
			return nil
		} else {
			last = status
		}
		time.Sleep(200 * time.Millisecond)
	}
	return fmt.Errorf("the agent is not ready after three minutes: %s", last)
}

func get(address, path string) (status string, err error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, address); err != nil {
		return "", err
	}
	line := make([]byte, 64)
	n, err := conn.Read(line)
	status, _, _ = strings.Cut(string(line[:n]), "\r\n")
	return status, err
}
