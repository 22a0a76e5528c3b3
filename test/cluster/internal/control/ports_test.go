package control

import (
	"path/filepath"
	"testing"
)

// TestKeptPorts checks that a control plane gets three different ports, and the same ports at its
// next start.
func TestKeptPorts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	first, err := KeptPorts(file)
	if err != nil {
		t.Fatal(err)
	}
	if first.API == 0 || first.API == first.EtcdClient || first.EtcdClient == first.EtcdPeer || first.API == first.EtcdPeer {
		t.Errorf("ports %+v, want three", first)
	}
	if again, err := KeptPorts(file); err != nil || again != first {
		t.Errorf("again %+v, %v, want %+v", again, err, first)
	}
}
