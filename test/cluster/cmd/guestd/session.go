package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/crypto/ssh"
)

// session is an SSH session, in which a client runs one command.
type session struct {
	ssh.Channel
	terminal *pty.Winsize // size of the terminal; nil: the command has no terminal, but pipes
}

// serveSession handles the requests of an SSH session until the client disconnects. Then it kills
// the command of the session. Source: RFC 4254, section 6.
func serveSession(channel ssh.Channel, requests <-chan *ssh.Request) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &session{Channel: channel}
	for r := range requests {
		ok := true
		switch r.Type {
		case "pty-req":
			s.terminal = windowSize(r.Payload)
		case "exec":
			go s.run(exec.CommandContext(ctx, "/bin/sh", "-c", text(r.Payload)))
		case "shell":
			go s.run(exec.CommandContext(ctx, "/bin/sh", "-l"))
		default:
			ok = false
		}
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
	}
}

// run executes cmd in a process session (setsid) of its own, and sends its exit status to the
// client.
func (s *session) run(cmd *exec.Cmd) {
	defer s.Close()
	cmd.Dir = "/root"
	cmd.Env = append(os.Environ(), "HOME=/root", "TERM=xterm", "CONTAINERD_NAMESPACE=k8s.io")
	cmd.WaitDelay = 5 * time.Second // otherwise the method `run` would wait for each daemon that the command leaves behind and that keeps the output open
	var err error
	if s.terminal != nil {
		err = s.onTerminal(cmd)
	} else {
		err = s.onPipes(cmd)
	}
	status := make([]byte, 4)
	binary.BigEndian.PutUint32(status, exitStatus(err))
	_, _ = s.SendRequest("exit-status", false, status)
}

func (s *session) onPipes(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Stdout, cmd.Stderr = s.Channel, s.Stderr()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(stdin, s.Channel)
		_ = stdin.Close()
	}()
	return cmd.Wait()
}

func (s *session) onTerminal(cmd *exec.Cmd) error {
	terminal, err := pty.StartWithSize(cmd, s.terminal)
	if err != nil {
		return err
	}
	defer terminal.Close()
	go io.Copy(terminal, s.Channel)
	_, _ = io.Copy(s.Channel, terminal) // ends with EIO when the last process closes the terminal
	return cmd.Wait()
}

// exitStatus returns the exit status of a command. As in shells, this is 128+N if signal N has
// ended the command, and 127 if the command could not be started.
func exitStatus(err error) uint32 {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case !errors.As(err, &exit):
		return 127
	}
	if w := exit.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + uint32(w.Signal())
	}
	return uint32(exit.ExitCode())
}

func text(payload []byte) string {
	var m struct{ Text string }
	_ = ssh.Unmarshal(payload, &m)
	return m.Text
}

func windowSize(payload []byte) *pty.Winsize {
	var m struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	_ = ssh.Unmarshal(payload, &m)
	return &pty.Winsize{Cols: uint16(m.Columns), Rows: uint16(m.Rows)}
}
