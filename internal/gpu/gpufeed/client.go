package gpufeed

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/gpu"
)

// Patience is how long silence may last in production: three looks at the GPUs.
const Patience = 30 * time.Second

// again is how long a reader waits before it tries to connect anew.
const again = time.Second

// Options is what a Client works with.
type Options struct {
	Socket   string
	Patience time.Duration // how long silence may last before nobody is taken to watch the GPUs
	Changed  func()        // is called when Latest would return something new
	Log      logr.Logger
}

// Client knows what a Server said last. Once it has been told of GPUs it never
// takes them back by itself: where nobody watches them, their health is unknown.
type Client struct {
	Options

	mu struct {
		sync.Mutex
		line   string // as last received
		latest *gpu.Inventory
		heard  time.Time // when something was heard; the zero value stands for not of late
	}
}

// NewClient returns a Client that knows of no GPU yet.
func NewClient(o Options) *Client {
	c := &Client{Options: o}
	c.mu.latest = &gpu.Inventory{}
	return c
}

// Latest returns the inventory, which nobody may change.
func (c *Client) Latest() *gpu.Inventory {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.latest
}

// Ready returns nil while somebody watches the GPUs, else why not.
func (c *Client) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.heard.IsZero() {
		return fmt.Errorf("nothing of the GPUs was heard at %s; is numalet-nvml running?", c.Socket)
	}
	return nil
}

// Run listens until ctx ends; it returns nil.
func (c *Client) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.read(ctx); err != nil && ctx.Err() == nil {
			c.Log.V(2).Info("the GPUs are not told", "reason", err.Error())
		}
		c.checkSilence()
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
	return nil
}

// read takes in lines until the server is silent for too long, or gone.
func (c *Client) read(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(c.Patience)); err != nil {
			return err
		}
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return fmt.Errorf("the server at %s is gone", c.Socket)
		}
		if err != nil {
			return err
		}
		if err := c.take(line); err != nil {
			return err
		}
	}
}

// take notes a line, and tells what is new.
func (c *Client) take(line string) error {
	c.mu.Lock()
	c.mu.heard = time.Now()
	same := c.mu.line == line
	c.mu.Unlock()
	if same {
		return nil
	}
	v, err := parse(line)
	if err != nil {
		return err
	}
	c.set(line, v)
	return nil
}

func (c *Client) set(line string, v *gpu.Inventory) {
	c.mu.Lock()
	c.mu.line, c.mu.latest = line, v
	c.mu.Unlock()
	c.Changed()
}

// checkSilence takes the health of all GPUs for unknown after too long a silence.
func (c *Client) checkSilence() {
	c.mu.Lock()
	silent := !c.mu.heard.IsZero() && time.Since(c.mu.heard) >= c.Patience
	if silent {
		c.mu.heard = time.Time{}
	}
	latest := c.mu.latest
	c.mu.Unlock()
	if silent {
		c.Log.Info("nobody watches the GPUs", "silentFor", c.Patience.String())
		c.set("", unwatched(latest))
	}
}

// unwatched returns an inventory of which nobody knows how it is.
func unwatched(v *gpu.Inventory) *gpu.Inventory {
	health := gpu.Health{Reason: "numalet-nvml, which watches the GPUs of this node, is silent"}
	return v.WithHealth(func(string, gpu.Health) gpu.Health { return health })
}
