package gpufeed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/gpu"
)

// DefaultTimeout is the default of Options.Timeout. It is three times the default interval at which
// numalet-nvml polls the GPUs and sends their inventory.
const DefaultTimeout = 30 * time.Second

// reconnectDelay is the time between two attempts of a Client to connect to the Server.
const reconnectDelay = time.Second

// Options are the options of NewClient.
type Options struct {
	Socket  string
	Timeout time.Duration // if the Server sends no line for this time, the health of all GPUs becomes unknown
	Changed func()        // is called when the result of Latest has changed
	Log     logr.Logger
}

// Client receives the inventory of GPUs from a Server, and keeps the latest inventory. If the
// Server stops sending, the GPUs stay in the inventory, but with unknown health.
type Client struct {
	Options

	mu struct {
		sync.Mutex
		line     string // the line with the latest inventory; "" before the first line and after a timeout
		latest   *gpu.Inventory
		received time.Time // time of the last inventory; zero after a timeout
	}
}

// NewClient returns a Client. Its inventory is empty until Run has received an inventory.
func NewClient(o Options) *Client {
	c := &Client{Options: o}
	c.mu.latest = &gpu.Inventory{}
	return c
}

// Latest returns the latest inventory. The caller must not change it.
func (c *Client) Latest() *gpu.Inventory {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.latest
}

// Ready returns nil while the Server sends inventories in time, or else the reason why the
// GPUs are not monitored.
func (c *Client) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.received.IsZero() {
		return fmt.Errorf("no inventory of GPUs received from %s; check that numalet-nvml is running", c.Socket)
	}
	return nil
}

// Run receives inventories until ctx ends, and then returns nil. It connects again after each
// failure.
func (c *Client) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.receive(ctx); err != nil && ctx.Err() == nil {
			c.Log.V(2).Info("cannot receive the inventory of GPUs; connecting again", "reason", err.Error())
		}
		c.checkTimeout()
		select {
		case <-ctx.Done():
		case <-time.After(reconnectDelay):
		}
	}
	return nil
}

// receive connects to the Server and receives lines. It returns when the connection ends,
// when a line is invalid, or when no line has arrived for the duration Options.Timeout.
func (c *Client) receive(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(c.Timeout)); err != nil {
			return err
		}
		line, err := readLine(lines)
		if err == io.EOF {
			return fmt.Errorf("the server at %s closed the connection", c.Socket)
		}
		if err != nil {
			return err
		}
		if err := c.update(line); err != nil {
			return err
		}
	}
}

// update parses a line from the Server. The inventory in this line becomes the latest
// inventory.
func (c *Client) update(line string) error {
	v, err := parse(line)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.mu.received = time.Now()
	same := c.mu.line == line
	c.mu.Unlock()
	if !same {
		c.set(line, v)
	}
	return nil
}

func (c *Client) set(line string, inventory *gpu.Inventory) {
	c.mu.Lock()
	c.mu.line, c.mu.latest = line, inventory
	c.mu.Unlock()
	c.Changed()
}

// checkTimeout sets the health of all GPUs to unknown if no line has arrived for the duration
// Options.Timeout.
func (c *Client) checkTimeout() {
	c.mu.Lock()
	expired := !c.mu.received.IsZero() && time.Since(c.mu.received) >= c.Timeout
	if expired {
		c.mu.received = time.Time{}
	}
	latest := c.mu.latest
	c.mu.Unlock()
	if expired {
		c.Log.Info("the GPUs are not monitored: no inventory received from numalet-nvml", "timeout", c.Timeout.String())
		c.set("", unmonitored(latest))
	}
}

// unmonitored returns a copy of the inventory in which the health of all GPUs is unknown.
func unmonitored(inventory *gpu.Inventory) *gpu.Inventory {
	health := gpu.Health{Reason: "numalet-nvml, which monitors the GPUs of this node, sends no updates"}
	return inventory.WithHealth(func(string, gpu.Health) gpu.Health { return health })
}

// Fetch connects to the Server at a socket once, and returns the current inventory of the
// Server. It does not retry.
func Fetch(ctx context.Context, socket string) (*gpu.Inventory, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to numalet-nvml for the inventory of GPUs: %w", err)
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	line, err := readLine(bufio.NewReader(conn))
	if err != nil {
		return nil, fmt.Errorf("read the inventory of GPUs from %s: %w", socket, err)
	}
	return parse(line)
}

// parse decodes an inventory, and returns an error if the inventory is inconsistent. Code that
// uses an inventory relies on this check. For example, a table of links that lacks a GPU could
// cause a panic.
func parse(line string) (*gpu.Inventory, error) {
	inventory := &gpu.Inventory{}
	if err := json.Unmarshal([]byte(line), inventory); err != nil {
		return nil, fmt.Errorf("decode the inventory of GPUs: %w", err)
	}
	if err := inventory.Check(); err != nil {
		return nil, fmt.Errorf("decode the inventory of GPUs: %w", err)
	}
	return inventory, nil
}

// maxLine is the maximum size of a line in bytes. The line of a node with 1,024 GPUs and the
// links between them is less than half as long. Numalet schedules no pods to nodes with more GPUs.
const maxLine = 64 << 20

// readLine reads a line, and returns an error if it is longer than maxLine. Without the
// limit, a server that never ends a line would fill the memory of the client.
func readLine(from *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return "", fmt.Errorf("a line of more than %d bytes is no inventory of GPUs", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}
