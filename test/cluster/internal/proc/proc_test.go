package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestStartStop(t *testing.T) {
	p := Process{Run: t.TempDir(), Name: "sleeper"}
	if err := p.Start("sleep", "60"); err != nil {
		t.Fatal(err)
	}
	if p.PID() == 0 {
		t.Fatal("a started process has no pid")
	}
	if err := p.Stop(time.Second); err != nil {
		t.Fatal(err)
	}
	if pid := p.PID(); pid != 0 {
		t.Errorf("pid after stop = %d, want 0", pid)
	}
	if err := p.Stop(time.Second); err != nil {
		t.Errorf("second stop: %v", err)
	}
}

func TestStopKillsTheStubborn(t *testing.T) {
	p := Process{Run: t.TempDir(), Name: "stubborn"}
	if err := p.Start("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := p.Stop(200 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
}

// TestForeignPID checks a pid file whose process has ended, and whose pid now belongs to another
// process. PID must return 0, and Stop must not kill the other process.
func TestForeignPID(t *testing.T) {
	p := Process{Run: t.TempDir(), Name: "gone"}
	if err := os.MkdirAll(filepath.Dir(p.pidFile()), 0o755); err != nil {
		t.Fatal(err)
	}
	stale := fmt.Appendf(nil, "%d 1\n", os.Getpid())
	if err := os.WriteFile(p.pidFile(), stale, 0o644); err != nil {
		t.Fatal(err)
	}
	if pid := p.PID(); pid != 0 {
		t.Errorf("pid = %d, want 0: this process started at another time", pid)
	}
	if err := p.Stop(time.Second); err != nil {
		t.Fatal(err)
	}
}
