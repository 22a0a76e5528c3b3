// Package hugepages has the Go heap on huge pages.
//
// It knows where the heap is mapped, and refuses to decide when it is complete: who has
// filled it calls Settle once.
package hugepages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Size is that of a huge page where the processor's small ones have 4 KiB.
const Size = 2 << 20

// Settle is for who has filled its heap with what it will keep. It collects the garbage,
// whose memory serves from here on, for to touch new memory costs more; and then it does
// what Collapse does.
func Settle() (bytes uint64, err error) {
	runtime.GC()
	return Collapse()
}

// Collapse makes huge pages of the memory that the heap has now, as far as the kernel has
// them, and returns how many bytes of the process are on huge pages then. That takes time
// for a copy of what the heap has, and the memory of what it has given back next to that. Of a
// heap that is read here and there, small pages are more than the processor remembers the
// places of, so that it waits for the place and then for the memory.
//
// It does nothing where the machine's administrator has transparent huge pages switched
// off, or where the kernel is older than 6.1.
//
// The runtime did so, too, and stopped: it called for each piece of the heap that came to be
// dense, with the lock of the heap in hand (golang/go#63334). To ask for huge pages in
// future, which is MADV_HUGEPAGE, was rejected: kernels then back again what was given back
// (golang/go#64332).
// Source: madvise(2), MADV_COLLAPSE; Documentation/admin-guide/mm/transhuge.rst.
func Collapse() (bytes uint64, err error) {
	if off, err := never(); off || err != nil {
		return 0, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, fmt.Errorf("find the heap: %w", err)
	}
	spans, err := anonymous(string(maps))
	if err != nil {
		return 0, fmt.Errorf("find the heap: %w", err)
	}
	for _, s := range spans {
		s.collapse()
	}
	return backed()
}

// span is a range of addresses.
type span struct{ from, to uint64 }

// collapse makes huge pages of those in it, one by one: the kernel has an error where there
// is nothing to copy, and does not go on behind some of them. None is worth telling.
func (s span) collapse() {
	for at := (s.from + Size - 1) / Size * Size; at+Size <= s.to; at += Size {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(at), Size, unix.MADV_COLLAPSE)
	}
}

// never says whether transparent huge pages are switched off.
func never() (bool, error) {
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // the kernel was built without them
	}
	if err != nil {
		return false, fmt.Errorf("read whether there may be huge pages: %w", err)
	}
	return strings.Contains(string(text), "[never]"), nil
}

// backed returns how many bytes of the process are on huge pages.
func backed() (uint64, error) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, fmt.Errorf("count huge pages: %w", err)
	}
	var kib uint64
	_, after, _ := strings.Cut(string(text), "AnonHugePages:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0, fmt.Errorf("count huge pages: AnonHugePages in /proc/self/smaps_rollup: %w", err)
	}
	return kib << 10, nil
}

// anonymous returns the mappings that have neither a file nor a name, and can be written:
// the heap's, and some that the runtime keeps its books in. maps is /proc/PID/maps (proc(5)):
//
//	c000000000-c000400000 rw-p 00000000 00:00 0
func anonymous(maps string) (spans []span, err error) {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line)
		if len(fields) != 5 || fields[1] != "rw-p" || fields[4] != "0" {
			continue
		}
		var s span
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &s.from, &s.to); err != nil {
			return nil, fmt.Errorf("mapping %q: %w", line, err)
		}
		spans = append(spans, s)
	}
	return spans, nil
}
