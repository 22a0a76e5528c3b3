package apiwriter

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
	"strconv"
	"time"
)

// longest is how long an answer is waited for where the caller sets no end: the
// API server itself leaves off after a minute (--request-timeout).
const longest = 70 * time.Second

// conn is a connection of HTTP/1.1 that serves one caller at a time.
type conn struct {
	net.Conn
	in   *bufio.Reader
	out  bytes.Buffer // what is being sent
	made time.Time
	used time.Time // when it was given back
}

// newConn returns a connection without a request under way.
func newConn(c net.Conn) *conn {
	return &conn{Conn: c, in: bufio.NewReader(c), made: time.Now()}
}

// exchange sends messages, one right behind another, and reads their answers to the
// end, in the caller's goroutine. After an error the connection is of no use.
func (c *conn) exchange(ctx context.Context, head []byte, all []message) ([]*http.Response, error) {
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(longest)
	}
	if err := c.SetDeadline(end); err != nil {
		return nil, err
	}
	goOn := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	answers, err := c.ask(head, all)
	if !goOn() {
		return answers, context.Cause(ctx)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return answers, fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return answers, err
}

func (c *conn) ask(head []byte, all []message) (answers []*http.Response, err error) {
	c.out.Reset()
	for _, m := range all {
		m.write(&c.out, head)
	}
	if _, err := c.Write(c.out.Bytes()); err != nil {
		return nil, err
	}
	for len(answers) < len(all) {
		answer, err := c.answer()
		if err != nil {
			return answers, err
		}
		if answers = append(answers, answer); answer.Close && len(answers) < len(all) {
			return answers, errors.New("the API server has closed the connection")
		}
	}
	return answers, nil
}

// write appends a request with its head.
func (m message) write(to *bytes.Buffer, head []byte) {
	to.WriteString("POST ")
	to.WriteString(m.to)
	to.WriteString(" HTTP/1.1\r\n")
	to.Write(head)
	to.WriteString("Content-Length: ")
	to.Write(strconv.AppendInt(to.AvailableBuffer(), int64(len(m.body)), 10))
	to.WriteString("\r\n\r\n")
	to.Write(m.body)
}

// posted is what all answers are to.
var posted = &http.Request{Method: http.MethodPost}

// answer reads the next answer.
func (c *conn) answer() (*http.Response, error) {
	if answer, err := made(c.in); answer != nil {
		return answer, err
	}
	for {
		answer, err := http.ReadResponse(c.in, posted)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode >= http.StatusOK { // else it is on its way
			return answer, slurp(answer)
		}
	}
}

// slurp reads an answer to its end and puts what it read in its place.
func slurp(answer *http.Response) error {
	defer answer.Body.Close()
	var body bytes.Buffer
	body.Grow(int(max(0, min(answer.ContentLength, readable))))
	n, err := io.Copy(&body, io.LimitReader(answer.Body, readable+1))
	if err == nil && n > readable {
		err = fmt.Errorf("read answer %q: more than %d bytes", answer.Status, readable)
	}
	answer.Body = io.NopCloser(&body)
	return err
}
