package hugepages

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestCollapse checks that what is in the heap stays what it is, and that it is on huge
// pages afterwards where the machine has them.
func TestCollapse(t *testing.T) {
	heap := make([][]byte, 64)
	for i := range heap {
		heap[i] = []byte(strings.Repeat(string(rune('0'+i)), 1<<20))
	}
	got, err := Collapse()
	if err != nil {
		t.Fatal(err)
	}
	for i := range heap {
		if want := strings.Repeat(string(rune('0'+i)), 1<<20); string(heap[i]) != want {
			t.Fatalf("megabyte %d is another", i)
		}
	}
	if want := uint64(48 << 20); got < want && possible(t) {
		t.Errorf("%d bytes are on huge pages, want %d at least", got, want)
	}
}

// possible reports whether the machine has huge pages to give.
func possible(t *testing.T) bool {
	t.Helper()
	off, err := never()
	if err != nil {
		t.Fatal(err)
	}
	version, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	old := strings.HasPrefix(string(version), "5.") || strings.HasPrefix(string(version), "6.0.")
	return !off && !old && info.Freeram*uint64(info.Unit) > 1<<30
}

func TestAnonymous(t *testing.T) {
	got, err := anonymous(`00400000-0041b000 r-xp 00000000 fe:00 1234                       /usr/bin/numalet-controller
0041b000-00420000 rw-p 0001b000 fe:00 1234                       /usr/bin/numalet-controller
00420000-00450000 rw-p 00000000 00:00 0
01450000-01480000 rw-p 00000000 00:00 0                          [heap]
c000000000-c000400000 rw-p 00000000 00:00 0
c000400000-c004000000 ---p 00000000 00:00 0
7ffd1000-7ffd2000 rw-p 00000000 00:00 0                          [stack]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []span{{0x420000, 0x450000}, {0xc000000000, 0xc000400000}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("mappings (-want +got):\n%s", diff)
	}
	if _, err := anonymous("here-there rw-p 0 00:00 0\n"); err == nil {
		t.Error("no error says that there are no addresses")
	}
}
