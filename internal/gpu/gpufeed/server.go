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

	mu struct {
		sync.Mutex
		line []byte        // the latest inventory in JSON; nil before the first Publish
		next chan struct{} // closed when line is replaced
	}
}

// NewServer returns a Server. It does not listen until Run is called.
func NewServer(socket string) *Server {
	s := &Server{socket: socket}
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
	s.mu.line = append(line, '\n')
	close(s.mu.next)
	s.mu.next = make(chan struct{})
}

// latest returns the latest inventory as a line of JSON, and a channel that is closed
// when a new line replaces it.
func (s *Server) latest() ([]byte, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// serve writes the latest inventory to a client, and writes again whenever there is a
// new one, until the client disconnects or ctx ends.
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
