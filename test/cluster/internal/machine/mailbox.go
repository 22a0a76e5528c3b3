package machine

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// mailboxSize is the size of the mailbox disk (MakeMailbox), and so the maximum size of a file that
// is transferred into the machine. The disk image is sparse.
const mailboxSize = 1 << 30

// MakeMailbox creates an empty mailbox. A mailbox is the machine's second disk, which transfers
// files into the machine. The host writes a file to the start of the disk, and the guest reads it
// from there. The mailbox is tens of times faster than the emulated network card.
func (b Boot) MakeMailbox() error {
	f, err := os.Create(b.Mailbox)
	if err != nil {
		return fmt.Errorf("make mailbox: %w", err)
	}
	defer f.Close()
	return f.Truncate(mailboxSize)
}

// Post writes a file to the mailbox. Then it calls the function `take`. The argument of this call
// is a shell command that prints the file when it runs in the guest. The mailbox holds one file, so
// Post waits while another Post for the same machine runs.
func (b Boot) Post(file string, take func(read string) error) error {
	box, err := os.OpenFile(b.Mailbox, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open mailbox of %s: %w", b.Node, err)
	}
	defer box.Close()
	if err := syscall.Flock(int(box.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock mailbox of %s: %w", b.Node, err)
	}
	size, err := fill(box, file)
	if err != nil {
		return fmt.Errorf("post to %s: %w", b.Node, err)
	}
	return take(fmt.Sprintf("{ blockdev --flushbufs /dev/vdb; head -c %d /dev/vdb; }", size))
}

func fill(box io.Writer, file string) (size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() > mailboxSize {
		return 0, fmt.Errorf("%s has %d bytes, the mailbox %d", file, info.Size(), mailboxSize)
	}
	return io.Copy(box, f)
}
