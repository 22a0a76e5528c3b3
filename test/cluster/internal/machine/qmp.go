package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Reset resets the machine without a shutdown of the guest.
func (b Boot) Reset() error {
	c, err := net.DialTimeout("unix", b.Monitor, time.Second)
	if err != nil {
		return fmt.Errorf("reach monitor of %s: %w", b.Node, err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return fmt.Errorf("reach monitor of %s: %w", b.Node, err)
	}
	m := monitor{json.NewEncoder(c), json.NewDecoder(c)}
	for _, command := range []string{"qmp_capabilities", "system_reset"} {
		if err := m.execute(command); err != nil {
			return fmt.Errorf("%s of %s: %w", command, b.Node, err)
		}
	}
	return nil
}

// monitor is a client of QEMU's machine protocol, with one JSON object per message.
// https://www.qemu.org/docs/master/interop/qmp-spec.html
type monitor struct {
	out *json.Encoder
	in  *json.Decoder
}

// execute sends a command and waits for its response, which may be an error. It skips the greeting
// and events.
func (m monitor) execute(command string) error {
	if err := m.out.Encode(map[string]string{"execute": command}); err != nil {
		return err
	}
	for {
		var answer struct {
			Return json.RawMessage
			Error  *struct{ Desc string }
		}
		if err := m.in.Decode(&answer); err != nil {
			return err
		}
		switch {
		case answer.Error != nil:
			return errors.New(answer.Error.Desc)
		case answer.Return != nil:
			return nil
		}
	}
}
