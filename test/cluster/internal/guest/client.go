// Package guest runs commands inside a virtual machine of the test cluster, over SSH.
package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
)

// Door has the address and the keys for SSH connections to a machine.
type Door struct {
	Address   string // host:port on loopback
	ClientKey []byte // private key of the client, in PEM
	HostKey   []byte // public key of the machine, as a line of an authorized_keys file
}

// Client is an SSH connection to a machine. Any number of commands can run over it at the same
// time.
type Client struct{ conn *ssh.Client }

// Stdio is the input and output of a command. If In is nil, the input is empty. If Out or Err is nil,
// that output is discarded.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Dial connects to the machine. It does not retry, so it fails while the machine boots.
func (d Door) Dial(timeout time.Duration) (*Client, error) {
	signer, err := ssh.ParsePrivateKey(d.ClientKey)
	if err != nil {
		return nil, fmt.Errorf("parse client key: %w", err)
	}
	host, _, _, _, err := ssh.ParseAuthorizedKey(d.HostKey)
	if err != nil {
		return nil, fmt.Errorf("parse host key: %w", err)
	}
	tcp, err := net.DialTimeout("tcp", d.Address, timeout)
	if err != nil {
		return nil, fmt.Errorf("enter machine: %w", err)
	}
	_ = tcp.SetDeadline(time.Now().Add(timeout))
	conn, channels, requests, err := ssh.NewClientConn(tcp, d.Address, &ssh.ClientConfig{
		User:            "root",
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(host),
	})
	if err != nil {
		tcp.Close()
		return nil, fmt.Errorf("enter machine at %s: %w", d.Address, err)
	}
	_ = tcp.SetDeadline(time.Time{})
	return &Client{ssh.NewClient(conn, channels, requests)}, nil
}

// Await calls Dial again and again until the machine answers or ctx ends.
func (d Door) Await(ctx context.Context) (*Client, error) {
	for {
		c, err := d.Dial(10 * time.Second)
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("machine doesn't answer: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Close ends the connection and all its running commands.
func (c *Client) Close() error { return c.conn.Close() }

// Run runs a shell command line and returns its exit status. It returns an error if the command
// could not be started, or if the connection was lost.
func (c *Client) Run(line string, stdio Stdio) (int, error) {
	s, err := c.conn.NewSession()
	if err != nil {
		return -1, fmt.Errorf("run %q: %w", line, err)
	}
	defer s.Close()
	s.Stdin, s.Stdout, s.Stderr = stdio.In, stdio.Out, stdio.Err
	return status(s.Run(line))
}

// Shell runs a login shell in a terminal of the given size, and returns its exit status. If stdio
// is a terminal of this host, the caller must have set this terminal to raw mode.
func (c *Client) Shell(rows, columns int, stdio Stdio) (int, error) {
	s, err := c.conn.NewSession()
	if err != nil {
		return -1, fmt.Errorf("open shell: %w", err)
	}
	defer s.Close()
	if err := s.RequestPty(os.Getenv("TERM"), rows, columns, nil); err != nil {
		return -1, fmt.Errorf("open terminal: %w", err)
	}
	s.Stdin, s.Stdout, s.Stderr = stdio.In, stdio.Out, stdio.Err
	if err := s.Shell(); err != nil {
		return -1, fmt.Errorf("open shell: %w", err)
	}
	return status(s.Wait())
}

func status(err error) (int, error) {
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	default:
		return -1, fmt.Errorf("machine went away: %w", err)
	}
}
