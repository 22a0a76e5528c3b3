package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// agentAddress is the address at which the node's agent serves /readyz and /metrics.
const agentAddress = "127.0.0.1:8123"

// awaitReady polls the agent's /readyz until the status is 200. It fails after three minutes.
func awaitReady() error {
	last := "no answer"
	for range 900 {
		if status, _, err := get(agentAddress, "/readyz", ""); err != nil {
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

// metrics reads the metrics of the program at an address, and writes them to the writer `to`. The
// path is /metrics if the address has none. If the token is not empty, metrics sends the token, over
// HTTPS.
func metrics(to io.Writer, address, token string) error {
	address, path, _ := strings.Cut(address, "/")
	path = "/" + cmp.Or(path, "metrics")
	status, body, err := get(address, path, token)
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("%s says %s to %s", address, status, path)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, body)
	return err
}

// get sends a GET request and returns the response. It writes the HTTP/1.0 request itself for two
// reasons: one kind of node has no wget, and package net/http would make this program much larger.
func get(address, path, token string) (status, body string, err error) {
	conn, err := dial(address, token != "")
	if err != nil {
		return "", "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", "", err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n%s\r\n", path, address, authorization(token)); err != nil {
		return "", "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", "", fmt.Errorf("read %s of %s: %w", path, address, err)
	}
	head, body, _ := strings.Cut(string(answer), "\r\n\r\n")
	status, _, _ = strings.Cut(head, "\r\n")
	return status, body, nil
}

// dial connects to an address, with TLS if `encrypted` is true. It does not verify the
// certificates, because Numalet's programs have self-signed ones.
func dial(address string, encrypted bool) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil || !encrypted {
		return conn, err
	}
	return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}), nil
}

// authorization returns the HTTP header with a token, or "" if there is no token.
func authorization(token string) string {
	if token == "" {
		return ""
	}
	return "Authorization: Bearer " + token + "\r\n"
}
