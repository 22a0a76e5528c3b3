package gpufeed

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/numalet/numalet/pkg/gpu"
)

// Ask returns what the server at a socket says now, for who looks but once. Nobody
// there is an error, too.
func Ask(ctx context.Context, socket string) (*gpu.Inventory, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("ask for the GPUs: %w", err)
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("ask for the GPUs at %s: %w", socket, err)
	}
	return parse(line)
}

// parse reads a line.
func parse(line string) (*gpu.Inventory, error) {
	v := &gpu.Inventory{}
	if err := json.Unmarshal([]byte(line), v); err != nil {
		return nil, fmt.Errorf("read inventory of GPUs: %w", err)
	}
	return v, nil
}
