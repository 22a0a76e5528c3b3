package cli

import (
	"compress/bzip2"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/cli/capture"
)

// TestTopoAgreesWithLstopo checks that numalet topo and hwloc's lstopo report the same package,
// NUMA node, core and last-level cache for every online CPU. It compares them for the running
// machine, and for captured files of real machines. The captured files are optional test data. They
// are in the directory that the environment variable NUMALET_TESTDATA names, or by default in the
// directory `shared` beside the repository's directory.
func TestTopoAgreesWithLstopo(t *testing.T) {
	lstopo, err := exec.LookPath("lstopo-no-graphics")
	if err != nil {
		t.Skip("lstopo-no-graphics is not installed (Debian: apt-get install hwloc-nox)")
	}
	t.Run("this machine", func(t *testing.T) { agree(t, lstopo, "/") })
	archives, err := filepath.Glob(filepath.Join(testData(), "machines", "*.tar.bz2"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) == 0 {
		t.Skipf("no captured machines: %s/machines holds no *.tar.bz2 (set NUMALET_TESTDATA)", testData())
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.bz2")
		t.Run(name, func(t *testing.T) { agree(t, lstopo, unpack(t, archive)) })
	}
}

func testData() string {
	if dir := os.Getenv("NUMALET_TESTDATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared")
}

// unpack unpacks the files of a captured machine, and returns the directory that contains the
// machine's directory sys.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir := inMemory(t)
	if err := capture.Unpack(bzip2.NewReader(file), dir); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "sys"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s holds %d trees (%v), want 1", archive, len(found), err)
	}
	return filepath.Dir(found[0])
}

// inMemory returns a temporary directory for the files of a captured machine. If possible, the
// directory is in memory (/dev/shm). A captured machine has up to 16,000 files. Writing them takes
// 25 s on a busy disk, and 1 s in memory.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "numalet-machine-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func agree(t *testing.T, lstopo, root string) {
	t.Helper()
	cmd := exec.Command(lstopo, "--disallowed", "--no-io", "--of", "xml")
	cmd.Env = append(os.Environ(), "HWLOC_COMPONENTS=-x86")
	if root != live {
		cmd.Env = append(cmd.Env, "HWLOC_FSROOT="+root)
	}
	document, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := readLstopo(document)
	if err != nil {
		t.Fatal(err)
	}
	got := numalet("topo", "--root", root, "--check=false", "-o", "json")
	if got.status != 0 {
		t.Fatal(got.stderr)
	}
	var machine machineJSON
	if err := json.Unmarshal([]byte(got.stdout), &machine); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, lines(machine, want)); diff != "" {
		t.Errorf("topo (-lstopo +numalet):\n%s", diff)
	}
}

// lines converts the output of numalet topo to the form that readLstopo returns: the place of every
// online CPU. For each CPU, numalet topo prints a single NUMA node. lstopo lists a second NUMA node
// for a CPU if a NUMA node without CPUs is local to this CPU. So if lstopo's list for a CPU
// contains the NUMA node from numalet topo, this NUMA node is replaced with lstopo's list. Without
// this replacement, the two results could not be equal.
func lines(machine machineJSON, lstopo map[int]place) map[int]place {
	got := map[int]place{}
	for _, cpu := range machine.CPUs {
		if !cpu.Online {
			continue
		}
		p := place{Package: cpu.Package, Core: int(cpu.Core), LLC: int(cpu.LLC), NUMA: fmt.Sprint(cpu.NUMA)}
		if near := strings.Fields(lstopo[int(cpu.ID)].NUMA); slices.Contains(near, p.NUMA) {
			p.NUMA = lstopo[int(cpu.ID)].NUMA
		}
		got[int(cpu.ID)] = p
	}
	return got
}
