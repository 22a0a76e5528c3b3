package post

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// longest is how long an answer is waited for where the caller sets no end: the
// API server itself leaves off after a minute (--request-timeout).
const longest = 70 * time.Second

// conn is a connection of HTTP/1.1 that serves one caller at a time.
type conn struct {
	net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
	made time.Time
	used time.Time // when it was given back
}

// newConn returns a connection without a request under way.
func newConn(c net.Conn) *conn {
	return &conn{Conn: c, in: bufio.NewReader(c), out: bufio.NewWriter(c), made: time.Now()}
}

// exchange sends a request and reads its answer to the end, in the caller's
// goroutine. After an error the connection is of no use.
func (c *conn) exchange(r *http.Request) (*http.Response, error) {
	end, ok := r.Context().Deadline()
	if !ok {
		end = time.Now().Add(longest)
	}
	if err := c.SetDeadline(end); err != nil {
		return nil, err
	}
	goOn := context.AfterFunc(r.Context(), func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	response, err := c.ask(r)
	if !goOn() {
		return nil, context.Cause(r.Context())
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return response, err
}

func (c *conn) ask(r *http.Request) (*http.Response, error) {
	if err := r.Write(c.out); err != nil {
		return nil, err
	}
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	if response, err := made(c.in, r); response != nil {
		return response, err
	}
	for {
		response, err := http.ReadResponse(c.in, r)
		if err != nil {
			return nil, err
		}
		if response.StatusCode >= http.StatusOK { // else it is on its way
			return response, slurp(response)
		}
	}
}

// slurp reads an answer to its end and puts what it read in its place.
func slurp(response *http.Response) error {
	var body bytes.Buffer
	body.Grow(int(max(0, min(response.ContentLength, readable))))
	n, err := io.Copy(&body, io.LimitReader(response.Body, readable+1))
	if err == nil && n > readable {
		err = fmt.Errorf("read answer %q: more than %d bytes", response.Status, readable)
	}
	response.Body = io.NopCloser(&body)
	return err
}
