package cgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

// recorder is a systemd that remembers what it was told.
type recorder struct {
	fail error         // of every unit
	hang chan struct{} // answers wait for it; nil does not wait
	mu   struct {
		sync.Mutex
		told map[string]string // "unit property" to value
	}
	barriers int
}

func (r *recorder) SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error {
	if r.hang != nil {
		select {
		case <-r.hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if r.fail != nil {
		return r.fail
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.told == nil {
		r.mu.told = map[string]string{}
	}
	for _, p := range properties {
		r.mu.told[name+" "+p.Name] = p.Value.String()
	}
	return nil
}

func (r *recorder) SystemStateContext(context.Context) (*systemd.Property, error) {
	r.barriers++
	return &systemd.Property{}, nil
}

const (
	scope    = "cri-containerd-c1.scope"
	scopeDir = "kubepods.slice/kubepods-pod1.slice/" + scope
)

func TestSettleTellsSystemdTheLatest(t *testing.T) {
	root := fake(t, map[string]string{
		scopeDir + "/cpuset.cpus.effective":          "8-9\n",
		scopeDir + "/cpuset.mems.effective":          "1\n",
		"kubepods.slice/kubepods-pod1.slice/cpu.max": "100000 100000\n",
	})
	units := &recorder{}
	c := open(t, Options{Root: root, Units: units})
	const target = "kubepods-pod1.slice:cri-containerd:c1"
	_ = c.Confine(t.Context(), target, cpuset.MustParse("0-9"), nil)
	if err := c.Confine(t.Context(), target, cpuset.MustParse("8-9"), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.LiftQuota(t.Context(), "kubepods-pod1.slice"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		scope + " AllowedCPUs":                   "@ay [0x0, 0x3]",
		"kubepods-pod1.slice CPUQuotaPerSecUSec": "@t 18446744073709551615",
	}
	if diff := cmp.Diff(want, units.mu.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if units.barriers != 1 {
		t.Errorf("%d requests after the answers, want 1: the second Settle has nothing to do", units.barriers)
	}
}

func TestSettleKeepsWhatFailed(t *testing.T) {
	r := &recorder{fail: errors.New("no bus")}
	u := newUnits(r)
	u.note("a.scope", allowed(cpuset.Of(1), cpuset.Set{}))
	u.note("b.scope", allowed(cpuset.Of(1), cpuset.Set{}))
	if err := u.settle(t.Context()); err == nil {
		t.Fatal("settle hid a failure")
	}
	u.note("b.scope", allowed(cpuset.Of(2), cpuset.Set{}))
	r.fail = nil
	if err := u.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.scope AllowedCPUs": "@ay [0x2]", "b.scope AllowedCPUs": "@ay [0x4]"}
	if diff := cmp.Diff(want, r.mu.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestSettleTellsOnlyWhatIsNew asserts a state that stands, then one that
// somebody else changed meanwhile.
func TestSettleTellsOnlyWhatIsNew(t *testing.T) {
	effective := scopeDir + "/cpuset.cpus.effective"
	root := fake(t, map[string]string{effective: "8-9\n", scopeDir + "/cpuset.mems.effective": "1\n"})
	r := &recorder{}
	c := open(t, Options{Root: root, Units: r})
	assert := func() {
		t.Helper()
		_ = c.Confine(t.Context(), "/"+scopeDir, cpuset.MustParse("8-9"), nil)
		if err := c.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		assert()
	}
	if r.barriers != 1 {
		t.Errorf("a state that stands was told %d times, want 1", r.barriers)
	}
	if err := os.WriteFile(filepath.Join(root, effective), []byte("0-9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	assert()
	if r.barriers != 2 {
		t.Errorf("a state that somebody changed was told %d times, want 2", r.barriers)
	}
}

// TestSettleTellsOfAQuotaThatCameBack lifts a quota that stays away, then one
// that the kubelet wrote again, as it does before a resize.
func TestSettleTellsOfAQuotaThatCameBack(t *testing.T) {
	const quota, slice = "kubepods.slice/kubepods-pod1.slice/cpu.max", "kubepods-pod1.slice"
	root := fake(t, map[string]string{quota: "100000 100000\n"})
	r := &recorder{}
	c := open(t, Options{Root: root, Units: r})
	for _, tc := range []struct {
		quota  string
		rounds int
	}{{"100000 100000\n", 1}, {"max 100000\n", 1}, {"200000 100000\n", 2}} {
		if err := os.WriteFile(filepath.Join(root, quota), []byte(tc.quota), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.LiftQuota(t.Context(), slice), c.Settle(t.Context())); err != nil {
			t.Fatal(err)
		}
		if r.barriers != tc.rounds {
			t.Errorf("quota %q: systemd was told %d times, want %d", tc.quota, r.barriers, tc.rounds)
		}
	}
}

func TestToldIsBounded(t *testing.T) {
	u := newUnits(&recorder{})
	for i := range toldAtMost + 10 {
		u.answered(fmt.Sprint(i), noQuota())
	}
	if n := len(u.mu.told); n > toldAtMost {
		t.Errorf("%d units are remembered, want at most %d", n, toldAtMost)
	}
}

func TestSettleForgetsUnitsThatAreGone(t *testing.T) {
	u := newUnits(&recorder{fail: godbus.Error{Name: "org.freedesktop.systemd1.NoSuchUnit"}})
	u.note("a.scope", noQuota())
	if err := u.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := slices.Collect(maps.Keys(u.take())); len(left) > 0 {
		t.Errorf("still noted: %v", left)
	}
}

// TestSettleWaitsAtMostUntilTheDeadline has a systemd that is away, as during a
// daemon-reload: 100 units wait together, and what is not told stays noted.
func TestSettleWaitsAtMostUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hang: make(chan struct{})}
		u := newUnits(r)
		for i := range 100 {
			u.note(fmt.Sprintf("%d.scope", i), noQuota())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		if err := u.settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("settle = %v, want the deadline", err)
		}
		close(r.hang)
		if err := u.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(r.mu.told) != 100 {
			t.Errorf("%d units told, want 100", len(r.mu.told))
		}
	})
}

func TestMask(t *testing.T) {
	for list, want := range map[string][]byte{"": nil, "0": {1}, "0,7": {0x81}, "8-9": {0, 3}, "63": {0, 0, 0, 0, 0, 0, 0, 0x80}} {
		if diff := cmp.Diff(want, mask(cpuset.MustParse(list))); diff != "" {
			t.Errorf("mask(%q) (-want +got):\n%s", list, diff)
		}
	}
}
