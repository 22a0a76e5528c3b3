package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// testMachine writes the machine's files in testdata/machine.txtar into a temporary directory, and
// returns the directory.
func testMachine(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/machine.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(archive, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTopoOutput(t *testing.T) {
	root := testMachine(t)
	for format, golden := range map[string]string{"text": "topo.txt", "json": "topo.json"} {
		got := numalet("topo", "--root", root, "-o", format)
		if got.status != 0 || got.stderr != "" {
			t.Fatalf("status %d, stderr %q", got.status, got.stderr)
		}
		want, err := os.ReadFile(filepath.Join("testdata", golden))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.stdout); diff != "" {
			t.Errorf("topo -o %s (-want +got):\n%s", format, diff)
		}
	}
}

// TestCaptureRoundTrip checks that "numalet topo" prints the same for a machine and for the files
// that "numalet capture" copied from this machine.
func TestCaptureRoundTrip(t *testing.T) {
	root := testMachine(t)
	want := numalet("topo", "--root", root, "-o", "json").stdout
	for name, to := range map[string]string{"tar": "machine.tar", "directory": "machine"} {
		t.Run(name, func(t *testing.T) {
			captured := filepath.Join(t.TempDir(), to)
			if got := numalet("capture", "--root", root, captured); got.status != 0 {
				t.Fatal(got.stderr)
			}
			got := numalet("topo", "--root", captured, "-o", "json")
			if diff := cmp.Diff(want, got.stdout); diff != "" {
				t.Errorf("topo of the capture (-want +got):\n%s%s", diff, got.stderr)
			}
		})
	}
}

// TestCaptureOfThisMachine checks that numalet capture succeeds with the rights of the user who runs
// the test, and that numalet topo prints the same for this machine and for its captured files.
func TestCaptureOfThisMachine(t *testing.T) {
	if _, err := os.Stat("/sys/devices/system/cpu/online"); err != nil {
		t.Skip("this machine has no sysfs")
	}
	captured := filepath.Join(t.TempDir(), "machine.tar")
	if got := numalet("capture", captured); got.status != 0 {
		t.Fatal(got.stderr)
	}
	here, there := numalet("topo", "--check=false"), numalet("topo", "--root", captured)
	if diff := cmp.Diff(withoutMemory(here.stdout), withoutMemory(there.stdout)); diff != "" {
		t.Errorf("topo here and from the capture (-here +capture):\n%s", diff)
	}
}

// withoutMemory removes the memory sizes from a picture, because they can change while a virtual
// machine runs.
func withoutMemory(picture string) string {
	words := strings.Fields(picture)
	kept := words[:0]
	for i, word := range words {
		if strings.HasSuffix(word, "iB") || i+1 < len(words) && strings.HasSuffix(words[i+1], "iB") {
			continue
		}
		kept = append(kept, word)
	}
	return strings.Join(kept, " ")
}
