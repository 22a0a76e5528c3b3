package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

const images = "../../docs/concepts/img"

// TestImagesOfDemo checks that the documentation's pictures of the demo machine are what the
// command "numalet topo" draws. demo.txtar has the files of this machine, and demo-*.json have
// NodeTopologies of this machine.
func TestImagesOfDemo(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join(images, "demo.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	machine := t.TempDir()
	if err := txtar.Write(archive, machine); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo-cpus", "demo-gpus"} {
		got := numalet("topo", "--root", machine, "--node-topology", filepath.Join(images, name+".json"), "-o", "svg")
		if got.status != 0 {
			t.Fatal(got.stderr)
		}
		scenario.Golden(t, filepath.Join(images, name+".svg"), got.stdout)
	}
}

// TestImagesOfMachines checks that the documentation's pictures of captured machines are what the
// command "numalet topo" draws. It skips a machine whose captured files are not available (see
// testData).
func TestImagesOfMachines(t *testing.T) {
	for image, machine := range map[string]string{
		"two-packages": "128arm-2pa2n8cluster4co",
		"sparse":       "48amd64-4pa2n6c-sparse",
		"hybrid":       "20em64t-hybrid-1p6c2t+2ca4co1t",
	} {
		t.Run(image, func(t *testing.T) {
			archive := filepath.Join(testData(), "machines", machine+".tar.bz2")
			if _, err := os.Stat(archive); err != nil {
				t.Skipf("no captured machine: %v (set NUMALET_TESTDATA)", err)
			}
			got := numalet("topo", "--root", unpack(t, archive), "-o", "svg")
			if got.status != 0 {
				t.Fatal(got.stderr)
			}
			scenario.Golden(t, filepath.Join(images, image+".svg"), got.stdout)
		})
	}
}

func TestTopoMarksUse(t *testing.T) {
	got := numalet("topo", "--root", testMachine(t), "--node-topology", "testdata/nodetopology.json")
	if got.status != 0 {
		t.Fatal(got.stderr)
	}
	scenario.Golden(t, "testdata/topouse.txt", got.stdout)
	for file, want := range map[string]string{"testdata/topo.txt": "not JSON: want a NodeTopology", "nowhere.json": "no such file"} {
		got := numalet("topo", "--root", testMachine(t), "--node-topology", file)
		if got.status != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("with %s: status %d, stderr %q, want 1 and %q", file, got.status, got.stderr, want)
		}
	}
}
