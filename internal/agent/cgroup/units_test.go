package cgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
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

// recorder is a fake systemd that records the properties that it receives.
type recorder struct {
	fail error         // the answer for every unit
	hang chan struct{} // if not nil, the fake systemd answers only after this channel is closed
	mu   struct {
		sync.Mutex
		sent map[string]string // "unit property" to value
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
	if r.mu.sent == nil {
		r.mu.sent = map[string]string{}
	}
	for _, p := range properties {
		r.mu.sent[name+" "+p.Name] = p.Value.String()
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

func TestPersistSendsTheLatest(t *testing.T) {
	root := fake(t, map[string]string{
		scopeDir + "/cpuset.cpus.effective":          "8-9\n",
		scopeDir + "/cpuset.mems.effective":          "1\n",
		"kubepods.slice/kubepods-pod1.slice/cpu.max": "100000 100000\n",
	})
	units := &recorder{}
	cgroups := open(t, Options{Root: root, Units: units})
	const target = "kubepods-pod1.slice:cri-containerd:c1"
	_ = cgroups.Confine(t.Context(), target, exactly(cpuset.MustParse("0-9")))
	if err := cgroups.Confine(t.Context(), target, exactly(cpuset.MustParse("8-9"))); err != nil {
		t.Fatal(err)
	}
	if err := cgroups.LiftQuota(t.Context(), "kubepods-pod1.slice"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := cgroups.Persist(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		scope + " AllowedCPUs":                   "@ay [0x0, 0x3]",
		"kubepods-pod1.slice CPUQuotaPerSecUSec": "@t 18446744073709551615",
	}
	if diff := cmp.Diff(want, units.mu.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if units.barriers != 1 {
		t.Errorf("%d requests after the answers, want 1: the second Persist has nothing to do", units.barriers)
	}
}

func TestPersistRetriesWhatFailed(t *testing.T) {
	r := &recorder{fail: errors.New("no bus")}
	units := newUnits(r)
	units.require("a.scope", allowed(cpuset.Of(1), cpuset.Set{}))
	units.require("b.scope", allowed(cpuset.Of(1), cpuset.Set{}))
	if err := units.persist(t.Context()); err == nil {
		t.Fatal("persist hid a failure")
	}
	units.require("b.scope", allowed(cpuset.Of(2), cpuset.Set{}))
	r.fail = nil
	if err := units.persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.scope AllowedCPUs": "@ay [0x2]", "b.scope AllowedCPUs": "@ay [0x4]"}
	if diff := cmp.Diff(want, r.mu.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// TestPersistSendsOnlyChanges checks when Persist sends systemd a request after Confine has written
// the same cpuset again. It must send none if the cpuset was unchanged, and one if another process
// had changed the cpuset.
func TestPersistSendsOnlyChanges(t *testing.T) {
	effective := scopeDir + "/cpuset.cpus.effective"
	root := fake(t, map[string]string{effective: "8-9\n", scopeDir + "/cpuset.mems.effective": "1\n"})
	r := &recorder{}
	cgroups := open(t, Options{Root: root, Units: r})
	assert := func() {
		t.Helper()
		_ = cgroups.Confine(t.Context(), "/"+scopeDir, exactly(cpuset.MustParse("8-9")))
		if err := cgroups.Persist(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		assert()
	}
	if r.barriers != 1 {
		t.Errorf("an unchanged state was sent %d times, want 1", r.barriers)
	}
	if err := os.WriteFile(filepath.Join(root, effective), []byte("0-9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	assert()
	if r.barriers != 2 {
		t.Errorf("a state that another process changed was sent %d times, want 2", r.barriers)
	}
}

// TestPersistSendsAQuotaThatCameBack removes a pod's CFS quota three times. Nothing changes before
// the second time, so Persist must send no request. Before the third time, the test writes a quota
// again, as the kubelet does before a resize, so Persist must send a request.
func TestPersistSendsAQuotaThatCameBack(t *testing.T) {
	const quota, slice = "kubepods.slice/kubepods-pod1.slice/cpu.max", "kubepods-pod1.slice"
	root := fake(t, map[string]string{quota: "100000 100000\n"})
	r := &recorder{}
	cgroups := open(t, Options{Root: root, Units: r})
	for _, tc := range []struct {
		quota  string
		rounds int
	}{{"100000 100000\n", 1}, {"max 100000\n", 1}, {"200000 100000\n", 2}} {
		if err := os.WriteFile(filepath.Join(root, quota), []byte(tc.quota), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(cgroups.LiftQuota(t.Context(), slice), cgroups.Persist(t.Context())); err != nil {
			t.Fatal(err)
		}
		if r.barriers != tc.rounds {
			t.Errorf("quota %q: %d requests were sent, want %d", tc.quota, r.barriers, tc.rounds)
		}
	}
}

// TestPersistLater checks that PersistLater does not call systemd itself. After two calls, the
// channel that Due returns must have only one value, and Retry must send what is pending.
func TestPersistLater(t *testing.T) {
	const slice = "kubepods.slice/kubepods-pod1.slice"
	root := fake(t, map[string]string{slice + "/cpu.max": "100000 100000\n"})
	r := &recorder{}
	cgroups := open(t, Options{Root: root, Units: r})
	if err := cgroups.LiftQuota(t.Context(), "kubepods-pod1.slice"); err != nil {
		t.Fatal(err)
	}
	cgroups.PersistLater()
	cgroups.PersistLater()
	if r.barriers != 0 || len(cgroups.Due()) != 1 {
		t.Errorf("%d calls of systemd, %d requests for one, want none and one", r.barriers, len(cgroups.Due()))
	}
	<-cgroups.Due()
	if err := cgroups.Retry(t.Context()); err != nil || r.barriers != 1 || len(cgroups.units.pending(math.MaxInt)) > 0 {
		t.Errorf("Retry = %v, %d calls, still pending: %v", err, r.barriers, cgroups.units.pending(math.MaxInt))
	}
}

func TestAcknowledgedIsBounded(t *testing.T) {
	units := newUnits(&recorder{})
	for i := range maxAcknowledged + 10 {
		units.acknowledge(fmt.Sprint(i), &request{properties: noQuota()})
	}
	if n := len(units.mu.acknowledged); n > maxAcknowledged {
		t.Errorf("%d units are remembered, want at most %d", n, maxAcknowledged)
	}
}

func TestPersistDropsUnitsThatAreGone(t *testing.T) {
	units := newUnits(&recorder{fail: godbus.Error{Name: "org.freedesktop.systemd1.NoSuchUnit"}})
	units.require("a.scope", noQuota())
	if err := units.persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := slices.Collect(maps.Keys(units.pending(math.MaxInt))); len(left) > 0 {
		t.Errorf("still pending: %v", left)
	}
}

// TestPersistWaitsAtMostUntilTheDeadline checks persist while systemd does not answer, as during a
// daemon-reload. For any number of units, persist must return at its deadline, and the requests
// must stay pending.
func TestPersistWaitsAtMostUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hang: make(chan struct{})}
		units := newUnits(r)
		for i := range 100 {
			units.require(fmt.Sprintf("%d.scope", i), noQuota())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		if err := units.persist(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("persist = %v, want the deadline", err)
		}
		close(r.hang)
		if err := units.persist(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(r.mu.sent) != 100 {
			t.Errorf("%d units sent, want 100", len(r.mu.sent))
		}
	})
}

// TestPersistAfterTheDeadline checks that persist sends nothing if its deadline has already passed: it
// would close the connection to systemd, because no answer would come in time. If systemd knows
// everything, persist succeeds.
func TestPersistAfterTheDeadline(t *testing.T) {
	r := &recorder{}
	units := newUnits(r)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for range 20 { // often, because Go selects at random between two channels that are both ready
		if err := units.persist(ctx); err != nil {
			t.Fatalf("persist = %v, although nothing is pending", err)
		}
	}
	units.require("a.scope", noQuota())
	for range 20 {
		if err := units.persist(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("persist = %v, want the deadline", err)
		}
	}
	if len(r.mu.sent)+r.barriers > 0 {
		t.Errorf("systemd was called: %v, and %d other calls", r.mu.sent, r.barriers)
	}
}

// TestReadyOnceSystemdAnswers checks that Ready returns an error until systemd has answered once.
// After a failure, Ready must return an error until systemd answers again. With the cgroupfs
// driver, Ready must always return nil.
func TestReadyOnceSystemdAnswers(t *testing.T) {
	const pod = "kubepods.slice/kubepods-pod1.slice"
	for name, tc := range map[string]struct {
		dir     string
		systemd bool
	}{
		"systemd":  {pod, true},
		"cgroupfs": {"kubepods/pod1", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			cgroups := open(t, Options{Root: fake(t, map[string]string{tc.dir + "/cpu.max": "max 100000"}), Units: r})
			step := func(what string, err error, ready bool) {
				t.Helper()
				if (cgroups.Ready() == nil) != (ready || !tc.systemd) {
					t.Errorf("%s = %v, then Ready = %v", what, err, cgroups.Ready())
				}
			}
			step("start", nil, false)
			step("Retry", cgroups.Retry(t.Context()), true)
			r.fail = errors.New("no bus")
			step("Persist", errors.Join(cgroups.LiftQuota(t.Context(), tc.dir), cgroups.Persist(t.Context())), false)
			r.fail = nil
			step("Retry", cgroups.Retry(t.Context()), true)
			before := r.barriers
			if err := cgroups.Retry(t.Context()); err != nil || r.barriers != before {
				t.Errorf("Retry = %v after %d calls, want none", err, r.barriers-before)
			}
		})
	}
}

// TestRetryWithAnotherRoot checks that Retry sends systemd the request for a pod whose cgroup is in none
// of the kubelet's usual root cgroups, as with the kubelet's flag --cgroup-root.
func TestRetryWithAnotherRoot(t *testing.T) {
	const pod = "site.slice/site-kubepods.slice/site-kubepods-pod1.slice"
	r := &recorder{}
	cgroups := open(t, Options{Root: fake(t, map[string]string{pod + "/cpu.max": "400000 100000"}), Units: r})
	err := errors.Join(cgroups.LiftQuota(t.Context(), pod), cgroups.Retry(t.Context()))
	if err != nil || len(r.mu.sent) != 1 {
		t.Errorf("Retry = %v, sent %v, want the request for the pod", err, r.mu.sent)
	}
}

func TestMask(t *testing.T) {
	for list, want := range map[string][]byte{"": nil, "0": {1}, "0,7": {0x81}, "8-9": {0, 3}, "63": {0, 0, 0, 0, 0, 0, 0, 0x80}} {
		if diff := cmp.Diff(want, mask(cpuset.MustParse(list))); diff != "" {
			t.Errorf("mask(%q) (-want +got):\n%s", list, diff)
		}
	}
}
