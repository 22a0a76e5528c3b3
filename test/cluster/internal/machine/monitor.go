package machine

import (
	"fmt"
	"net"
	"time"
)

// Reset presses the machine's reset button: nothing in the guest is told.
func (b Boot) Reset() error { return b.command("system_reset") }

// command sends one line to QEMU's human monitor and leaves it time to act
// on it before the connection closes.
func (b Boot) command(line string) error {
	c, err := net.DialTimeout("unix", b.Monitor, time.Second)
	if err != nil {
		return fmt.Errorf("reach monitor of %s: %w", b.Node, err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "%s\n", line); err != nil {
		return fmt.Errorf("send %q to %s: %w", line, b.Node, err)
	}
	time.Sleep(200 * time.Millisecond)
	return nil
}
