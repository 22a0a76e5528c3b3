package apiwriter

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// idle is how long a connection that nobody uses is trusted: the API server
	// closes it after 90 s, and what lies between perhaps sooner.
	idle = 30 * time.Second
	// age is how long one is used, so that a new certificate comes into force and
	// API servers that were added get their share.
	age = 10 * time.Minute
)

// pool is a way over connections of HTTP/1.1 that one caller has at a time. Who asks
// writes the request and reads its answer, to the end: two system calls, and no
// change between goroutines.
//
// Both transports of net/http were tried before. Over HTTP/2 a request is a
// goroutine of its own, two records of TLS and several changes to others; over
// HTTP/1.1 each connection is two goroutines.
type pool struct {
	dial func(context.Context) (net.Conn, error)
	head *head
	mu   struct {
		sync.Mutex
		idle []*conn // ascending by used
	}
}

// send is that of way. Whether a request that was not answered was heard is not
// known: it is not sent again.
func (p *pool) send(ctx context.Context, all []message) ([]*http.Response, error) {
	head, err := p.head.lines()
	if err != nil {
		return nil, err
	}
	c, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := c.exchange(ctx, head, all)
	switch {
	case err != nil:
		c.Close()
		p.drop(time.Now()) // one is seldom alone: the API server has ended
	case answers[len(answers)-1].Close || time.Since(c.made) > age:
		c.Close()
	default:
		p.give(c)
	}
	return answers, err
}

// take returns the connection that was used last, or a new one.
func (p *pool) take(ctx context.Context) (*conn, error) {
	p.drop(time.Now().Add(-idle))
	p.mu.Lock()
	if n := len(p.mu.idle); n > 0 {
		c := p.mu.idle[n-1]
		p.mu.idle = p.mu.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	made, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	return newConn(made), nil
}

// give puts a connection back.
func (p *pool) give(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.used = time.Now()
	p.mu.idle = append(p.mu.idle, c)
}

// drop closes those that nobody has used since then.
func (p *pool) drop(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.mu.idle) && !p.mu.idle[n].used.After(since) {
		p.mu.idle[n].Close()
		n++
	}
	p.mu.idle = p.mu.idle[n:]
}
