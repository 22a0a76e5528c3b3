package kubelet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

const (
	numa0 = "numalet.dev/numa0-cpu"
	numa1 = "numalet.dev/numa1-cpu"
	numa4 = "numalet.dev/numa4-cpu"
)

// busyTimeout is a timeout that is long enough for a busy machine.
const busyTimeout = 30 * time.Second

// rig runs a Publisher for a fake machine. The machine is a directory of sysfs files,
// which the test can change.
type rig struct {
	*Publisher
	root    string
	machine atomic.Pointer[topology.Machine]
	tick    chan time.Time
	stop    func() // ends Run and waits for it
}

func start(t *testing.T, root, reserved string) *rig {
	t.Helper()
	r := &rig{root: root, tick: make(chan time.Time)}
	r.machine.Store(machine())
	r.Publisher = NewPublisher(Options{
		Root: root,
		Sources: []Source{&CPUs{Reserved: cpuset.MustParse(reserved), Discover: func() (*topology.Machine, error) {
			if m := r.machine.Load(); m != nil {
				return m, nil
			}
			return nil, errors.New("no sysfs")
		}}},
		Tick:    r.tick,
		After:   func(time.Duration) <-chan time.Time { return time.After(time.Millisecond) },
		Log:     testr.New(t),
		Metrics: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		done <- nil
	}
	t.Cleanup(r.stop)
	return r
}

// kubeletRoot returns a new directory for a kubelet. Its path is short, because the
// path of a socket has at most 107 bytes.
func kubeletRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return root
}

func (r *rig) look(t *testing.T) {
	t.Helper()
	select {
	case r.tick <- time.Time{}:
	case <-time.After(busyTimeout):
		t.Fatal("the publisher takes no tick: it has no session")
	}
}

// eventually waits until the function given as `got` returns the value given as `want`. It fails the
// test after busyTimeout.
func eventually[T any](t *testing.T, what string, want T, got func() T) {
	t.Helper()
	var diff string
	for deadline := time.Now().Add(busyTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if diff = cmp.Diff(want, got()); diff == "" {
			return
		}
	}
	t.Fatalf("%s (-want +got):\n%s", what, diff)
}

func TestPublishesAndFollowsTheMachine(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	r := start(t, root, "0,2,6")
	eventually(t, "status", map[string]string{numa0: "3/4", numa1: "1/3"}, kubelet.status)
	eventually(t, "readiness", nil, r.Ready)

	m := machine()
	m.Nodes[0].CPUs = cpuset.MustParse("0-1,4")
	m.Nodes[1].CPUs = cpuset.Set{}
	m.Nodes = append(m.Nodes, topology.Node{ID: 4, CPUs: cpuset.MustParse("8-11")})
	r.machine.Store(m)
	r.look(t)
	want := map[string]string{numa0: "2/3", numa1: "0/0", numa4: "4/4"}
	eventually(t, "status after a CPU and a node went and a node came", want, kubelet.status)
	eventually(t, "registrations: those of the other nodes stay", map[string]int{numa0: 1, numa1: 1, numa4: 1}, kubelet.registrations)

	r.machine.Store(nil)
	eventually(t, "readiness", nil, r.Ready)
	r.look(t)
	eventually(t, "readiness without sysfs", "discover the machine: no sysfs", func() string { return message(r.Ready()) })
	if diff := cmp.Diff(want, kubelet.status()); diff != "" {
		t.Errorf("status without sysfs (-want +got):\n%s", diff)
	}
}

func TestAllocateNamesTheTokens(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	r := start(t, root, "0")
	eventually(t, "readiness", nil, r.Ready)
	got, err := kubelet.allocate(t, numa1, "numa1-cpu-2", "numa1-cpu-0")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"allocated.numalet.dev/numa1-cpu": "numa1-cpu-0,numa1-cpu-2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if _, err := kubelet.allocate(t, numa1, "gpu-7"); err == nil || !strings.Contains(err.Error(), `device "gpu-7" is not one of this node's`) {
		t.Errorf("allocate a foreign device: %v", err)
	}
}

func TestRegistersAgainAfterAKubeletRestart(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	r := start(t, root, "0")
	want := map[string]string{numa0: "3/4", numa1: "3/3"}
	for range 3 {
		eventually(t, "status", want, kubelet.status)
		kubelet.kill()
		eventually(t, "not ready", false, func() bool { return r.Ready() == nil })
		kubelet = startKubelet(t, root)
	}
	eventually(t, "status", want, kubelet.status)
	eventually(t, "readiness", nil, r.Ready)
}

func TestRegistersAgainWithoutFileEvents(t *testing.T) {
	root := kubeletRoot(t)
	r := start(t, root, "0") // the kubelet's directory, which the Publisher watches, does not exist yet
	eventually(t, "not ready", true, func() bool { return strings.Contains(message(r.Ready()), "check that the kubelet is running") })
	kubelet := startKubelet(t, root)
	eventually(t, "readiness", nil, r.Ready)
	eventually(t, "registrations", map[string]int{numa0: 1, numa1: 1}, kubelet.registrations)
	startKubelet(t, root) // a second kubelet removes all sockets and creates its own
	r.look(t)
	eventually(t, "readiness", nil, r.Ready)
}

func TestSocketThatIsRemovedComesBack(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	r := start(t, root, "0")
	eventually(t, "readiness", nil, r.Ready)
	socket := filepath.Join(root, "device-plugins", "numalet-numa1-cpu.sock")
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	r.look(t)
	eventually(t, "registrations", map[string]int{numa0: 2, numa1: 2}, kubelet.registrations)
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
}

func TestStreamThatALivingKubeletEnds(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	r := start(t, root, "0")
	eventually(t, "status", map[string]string{numa0: "3/4", numa1: "3/3"}, kubelet.status)
	kubelet.dropStream(numa1)
	eventually(t, "registrations", map[string]int{numa0: 2, numa1: 2}, kubelet.registrations)
	if n := value(t, r.metrics.drops.WithLabelValues(numa1)); n != 1 {
		t.Errorf("dropped streams %v, want 1", n)
	}
}

func TestAnotherPluginOfTheSameResourceIsReported(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	r := start(t, root, "0")
	eventually(t, "status", map[string]string{numa0: "3/4", numa1: "3/3"}, kubelet.status)
	eventually(t, "readiness", nil, r.Ready)
	kubelet.otherPlugin(numa1, "core-b", "core-a")
	r.look(t)
	want := `another device plugin serves numalet.dev/numa1-cpu, for example its device "core-a"; remove that plugin`
	eventually(t, "readiness", want, func() string { return message(r.Ready()) })
	if n := value(t, r.metrics.conflict.WithLabelValues(numa1)); n != 1 {
		t.Errorf("conflict metric %v, want 1", n)
	}
	kubelet.otherPlugin(numa1)
	r.look(t)
	eventually(t, "registrations once it is gone", map[string]int{numa0: 2, numa1: 2}, kubelet.registrations)
	eventually(t, "readiness", nil, r.Ready)
}

// TestAnotherPluginOfTheSameDevices checks that a resource is registered again after another plugin
// of the same devices has ended. The kubelet tells nobody that it then counts the devices as
// unhealthy.
func TestAnotherPluginOfTheSameDevices(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	r := start(t, root, "0")
	eventually(t, "status", map[string]string{numa0: "3/4", numa1: "3/3"}, kubelet.status)
	for range 2 { // when the second tick is taken, the first one has been handled
		r.look(t)
	}
	kubelet.otherPlugin(numa1)
	for range 3 {
		r.look(t)
	}
	eventually(t, "registrations", map[string]int{numa0: 2, numa1: 2}, kubelet.registrations)
	eventually(t, "status", map[string]string{numa0: "3/4", numa1: "3/3"}, kubelet.status)
}

// TestCheckListed checks after which answers of the kubelet a resource is registered again. In
// `answers`, the digit 1 stands for an answer with a healthy device, 0 for one without, and x for an
// answer without one while the plugin itself has no healthy device.
func TestCheckListed(t *testing.T) {
	for answers, want := range map[string]bool{"": false, "00000": false, "10": false, "100": true, "1010": false, "10100": true, "1xxxx": false, "10x0": false} {
		s := &server{plugin: newPlugin(numa0, &CPUs{})}
		var err error
		for _, answer := range answers {
			s.publish([]*pluginapi.Device{newDevice("a", answer != 'x', 0, true)})
			err = s.checkListed(answer == '1')
		}
		if (err != nil) != want {
			t.Errorf("after %q: %v", answers, err)
		}
	}
}

func TestKubeletThatNeverListens(t *testing.T) {
	deaf := &server{plugin: newPlugin(numa0, &CPUs{})}
	if err := deaf.checkStream(); err != nil {
		t.Errorf("after one tick: %v", err)
	}
	if err := deaf.checkStream(); message(err) != "the kubelet does not watch "+numa0+"; registering again" {
		t.Errorf("after two ticks: %v", err)
	}
}

func TestSecondInstanceWaitsForTheFirst(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	first := start(t, root, "0")
	eventually(t, "readiness of the first", nil, first.Ready)
	second := start(t, root, "0-1")
	eventually(t, "the second waits", true, func() bool {
		return strings.Contains(message(second.Ready()), "another numalet-deviceplugin serves this node")
	})
	first.stop()
	eventually(t, "status by the second", map[string]string{numa0: "2/4", numa1: "3/3"}, kubelet.status)
}

func TestAllocatedTokensStayHealthyAcrossANewReservation(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	first := start(t, root, "")
	eventually(t, "status", map[string]string{numa0: "4/4", numa1: "3/3"}, kubelet.status)
	if _, err := kubelet.allocate(t, numa0, "numa0-cpu-3", "numa0-cpu-2"); err != nil {
		t.Fatal(err)
	}
	first.stop()
	start(t, root, "0-1,4")
	eventually(t, "status", map[string]string{numa0: "2/4", numa1: "3/3"}, kubelet.status)
	for _, id := range []string{"numa0-cpu-3", "numa0-cpu-2"} {
		if health := kubelet.health(numa0, id); health != "Healthy" {
			t.Errorf("allocated token %s is %q", id, health)
		}
	}
}

func TestStopLeavesNothingBehind(t *testing.T) {
	root := kubeletRoot(t)
	startKubelet(t, root)
	r := start(t, root, "0")
	eventually(t, "readiness", nil, r.Ready)
	r.stop()
	left, err := filepath.Glob(filepath.Join(root, "device-plugins", "*numa*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBackOff(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 200 * time.Millisecond, 1: 400 * time.Millisecond, 4: 3200 * time.Millisecond, 5: 5 * time.Second, 1000: 5 * time.Second,
	} {
		if got := backOff(failures); got != want {
			t.Errorf("backOff(%d) = %s, want %s", failures, got, want)
		}
	}
}

func TestLongSocketPathIsExplained(t *testing.T) {
	_, err := listen("/" + strings.Repeat("x", maxSocketPath))
	if err == nil || !strings.Contains(err.Error(), "the path has 108 bytes, but a socket path can have at most 107") {
		t.Errorf("listen: %v", err)
	}
}

func value(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		t.Fatal(err)
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
