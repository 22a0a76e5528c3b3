package gpufeed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/gpu"
)

// writeTimeout is how long it may take to write a line to a client.
const writeTimeout = 5 * time.Second

// Server sends each new inventory of GPUs to all clients. A slow client may miss an
// inventory that a newer one has replaced.
type Server struct {
	socket string
	expiry time.Duration

	mu struct {
		sync.Mutex
		line      []byte        // the latest inventory in JSON; nil before the first Publish
		published time.Time     // when Publish was called last
		next      chan struct{} // closed when the field `line` is replaced
	}
}

// NewServer returns a Server. It does not listen until Run is called. If the latest inventory is
// younger than the duration `expiry`, a client that connects gets it. Otherwise the client waits for
// the next inventory. If the calls of NVML hang, no inventory is published, and each client connects
// again after its timeout. If the client then received an old inventory, it would count the GPUs as
// monitored again.
func NewServer(socket string, expiry time.Duration) *Server {
	s := &Server{socket: socket, expiry: expiry}
	s.mu.next = make(chan struct{})
	return s
}

// Publish makes Run send the inventory to all clients. It does not block. It returns no error,
// because every inventory can be encoded as JSON.
func (s *Server) Publish(inventory *gpu.Inventory) {
	line, err := json.Marshal(inventory)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.line, s.mu.published = append(line, '\n'), time.Now()
	close(s.mu.next)
	s.mu.next = make(chan struct{})
}

// latest returns the latest inventory as a line of JSON, and a channel that is closed
// when a new line replaces it. It returns no line if the latest inventory has expired.
func (s *Server) latest() ([]byte, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.mu.published) >= s.expiry {
		return nil, s.mu.next
	}
	return s.mu.line, s.mu.next
}

// Run listens on the socket and serves clients until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	if err := os.Remove(s.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the old socket of the inventory of GPUs: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", s.socket)
	if err != nil {
		return fmt.Errorf("listen for clients of the inventory of GPUs: %w", err)
	}
	var clients sync.WaitGroup
	defer clients.Wait()
	context.AfterFunc(ctx, func() { listener.Close() })
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a client of the inventory of GPUs: %w", err)
		}
		clients.Go(func() { s.serve(ctx, conn) })
	}
}

// serve writes the latest inventory to a client, unless the inventory has expired. It writes again
// whenever there is a new inventory, until the client disconnects or ctx ends.
func (s *Server) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	for {
		line, next := s.latest()
		if conn.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
			return
		}
		if _, err := conn.Write(line); err != nil {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}
