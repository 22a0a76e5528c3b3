package controller

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/testutil/apisim"
	"github.com/numalet/numalet/pkg/topology"
)

var (
	faultsWanted = flag.Int("faults", 3000, "how many faults TestFaults injects")
	faultsSeed   = flag.Uint64("faults-seed", 1, "the seed of TestFaults")
	faultsTrace  = flag.Bool("faults-trace", false, "TestFaults shows the history of a pod with which something is wrong")
)

// faultsPerEpoch is the largest number of faults that the test injects into one simulated cluster.
// With this number, the leader changes several times.
const faultsPerEpoch = 4000

// TestFaults runs the controller with its own clients against an API server that fails in many ways
// (apisim.Faults). Meanwhile pods come and go, and controller processes are killed and replaced, or
// lose their connection. At each change the test checks that no CPU or GPU is given to two pods.
// Finally it stops the faults. It then checks that each pod that fits is bound, and that each
// controller's state of the nodes equals the API server's objects.
//
// The clock is simulated (testing/synctest), so waiting takes no real time. The test runs one epoch
// after another, each with a new cluster. The seed and the number of an epoch determine the random
// numbers of the epoch. They do not determine the order in which goroutines run, so a repeated
// epoch can differ.
func TestFaults(t *testing.T) {
	klog.SetLogger(logr.Discard())
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // the default handlers would sleep and log
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	total, bindings, starts, counts, simulated, began := 0, 0, 0, map[string]int{}, time.Duration(0), time.Now()
	for n := uint64(0); total < *faultsWanted && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			e := newEpoch(t, rand.New(rand.NewPCG(*faultsSeed, n)))
			e.run(min(faultsPerEpoch, *faultsWanted-total))
			for _, wrong := range e.audit.violations() {
				t.Errorf("seed %d, epoch %d: %s", *faultsSeed, n, wrong)
			}
			for kind, count := range e.faults.Counts() {
				counts[kind] += count
			}
			total += e.faults.Total()
			bindings += e.audit.bindings
			starts += int(e.starts.Load())
			simulated += e.simulated
		})
		if n%5 == 4 {
			t.Logf("epoch %d: %d faults, %d pods bound, %d processes, %v simulated", n, total, bindings, starts, simulated.Round(time.Minute))
		}
	}
	t.Logf("seed %d: %d faults, %d pods bound by %d processes in %v of simulated time, in %v\n%s", *faultsSeed, total, bindings, starts, simulated.Round(time.Minute), time.Since(began).Round(time.Second), apisim.Table(counts))
}

// epoch is one simulated cluster with one or two replicas of the controller.
type epoch struct {
	*testing.T
	rand   *rand.Rand // random numbers for the nodes and pods; used by one goroutine
	faults *apisim.Faults
	server *apisim.Server
	audit  *audit

	settings  []string
	kill      chan struct{} // each value that is sent kills one process of the controller
	replicas  []atomic.Pointer[process]
	starts    atomic.Int64
	made      int // number of single pods and gangs that were created
	uids      int
	quiet     bool // set once the faults have stopped; the method `live` then no longer deletes pending pods to create them again
	simulated time.Duration
}

// process is one process of the controller.
type process struct {
	conn       *apisim.Conn
	controller *controller
	stop       context.CancelFunc
	ended      chan struct{}
}

func newEpoch(t *testing.T, r *rand.Rand) *epoch {
	e := &epoch{T: t, rand: r, faults: apisim.NewFaults(rand.New(rand.NewPCG(r.Uint64(), 0))), audit: newAudit(), kill: make(chan struct{})}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	e.server = apisim.New(scheme, e.faults)
	e.server.Observe, e.server.Event, e.server.Refused, e.audit.traced = e.audit.observe, e.audit.event, e.audit.refused, *faultsTrace
	if *faultsTrace {
		e.server.Trace = func(class, _, name, fault string) {
			if class != "event" && class != "lease" && class != "list" && class != "watch" {
				e.audit.request(name, class, fault)
			}
		}
	}
	e.replicas = make([]atomic.Pointer[process], 1+r.IntN(2))
	e.settings = []string{"--reserve-after=" + []string{"none", "1s"}[r.IntN(2)], "--policy=" + []string{"leastfit", "bestfit", "fragmentation"}[r.IntN(3)]}
	return e
}

// run simulates the cluster until the given number of faults was injected or a check has failed. It
// then stops the faults and checks the result.
func (e *epoch) run(faults int) {
	began := time.Now()
	e.populate()
	ctx, stop := context.WithCancel(e.Context())
	var replicas sync.WaitGroup
	for i := range e.replicas {
		replicas.Go(func() { e.supervise(ctx, &e.replicas[i]) })
	}
	synctest.Wait()
	for i := 0; e.faults.Total() < faults && len(e.audit.violations()) == 0; i++ {
		time.Sleep(time.Duration(e.rand.Int64N(int64(100 * time.Millisecond))))
		e.arrive()
		if i%4 == 0 {
			e.live()
			e.disturb()
		}
	}
	e.settle()
	stop()
	replicas.Wait()
	time.Sleep(30 * time.Second) // until killed processes and kube-scheduler's goroutines that record metrics have ended
	e.simulated = time.Since(began)
}

// supervise keeps one replica running until ctx is done. It replaces a killed process at once. If a
// process has ended by itself, supervise waits a second before it replaces the process.
func (e *epoch) supervise(ctx context.Context, replica *atomic.Pointer[process]) {
	for {
		p := e.start()
		replica.Store(p)
		select {
		case <-p.ended:
			time.Sleep(time.Second)
		case <-e.kill:
			p.conn.Cut()
			p.stop()
		case <-ctx.Done():
			p.stop()
			<-p.ended
			return
		}
	}
}

// process returns the process of a random replica.
func (e *epoch) process() *process { return e.replicas[e.rand.IntN(len(e.replicas))].Load() }

// leader returns the controller that is the leader and schedules pods.
func (e *epoch) leader() *controller {
	for i := range e.replicas {
		if c := e.replicas[i].Load().controller; c.schedules() {
			return c
		}
	}
	e.Fatal("no replica leads")
	return nil
}

// start starts a process of the controller.
func (e *epoch) start() *process {
	cfg, err := config.LoadController(config.Input{
		Args:      append(slices.Clone(e.settings), "--health-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0", "--metrics-secure=false", "--queue-addr=", "--binders=8", "--proposers=2"),
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		e.Fatal(err)
	}
	p := &process{conn: e.server.Connect(), ended: make(chan struct{})}
	connected, err := connectScheduler(&rest.Config{
		Host: "http://apisim", Transport: p.conn, QPS: cfg.RequestRate, Burst: int(cfg.RequestRate) + 1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON},
	}, cfg)
	if err != nil {
		e.Fatal(err)
	}
	connected.tenants = storedTenants(e.T)
	ctx, stop := context.WithCancel(context.Background())
	if p.controller, err = newController(ctx, cfg, logr.Discard(), connected); err != nil {
		e.Fatal(err)
	}
	running, end := context.WithCancel(context.Background())
	p.stop = end
	go func() {
		defer close(p.ended)
		defer stop()
		p.controller.runWith(running) // an error is allowed: runWith returns one if the lease is lost
		p.controller.close()
	}()
	e.starts.Add(1)
	return p
}

// close closes the health and metrics servers. The method `run` would close them, but the test calls
// runWith without servers.
func (c *controller) close() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	c.health.Run(over)
	c.metrics.Run(over)
}

// settle stops the faults, and checks that each pod that fits is bound. Then it lets bound pods end
// until the pending pods are bound as well. Finally it checks that each controller's state of the
// nodes equals the API server's objects.
func (e *epoch) settle() {
	e.faults.Stop(true)
	e.quiet = true
	for i := range simNodes {
		e.cordon(fmt.Sprintf("n%d", i), false)
		e.publish(fmt.Sprintf("n%d", i), true)
	}
	time.Sleep(2 * time.Minute)
	e.checkFitting()
	for limit := time.Now().Add(time.Hour); len(e.waiting()) > 0; time.Sleep(250 * time.Millisecond) {
		if time.Now().After(limit) {
			for _, pod := range e.waiting() {
				explained, _ := e.leader().queue.Explain(string(pod.UID))
				e.audit.violation(string(pod.UID), "pod %s still waits: %v; %v; %v", pod.Name, explained, pod.Spec.Containers[0].Resources.Requests, pod.Annotations)
			}
			return
		}
		e.live()
	}
	time.Sleep(15 * time.Second)
	for i := range e.replicas {
		e.checkBooks(e.replicas[i].Load().controller)
	}
}

// checkFitting checks that no pending pod fits a node. It compares only the numbers of CPUs and
// GPUs. For pods of gangs and pods with exclusive CPUs, these numbers can suffice although the pod
// does not fit, so checkFitting leaves out such pods. It checks nothing if the controller may
// reserve nodes (--reserve-after), because a pod may then have to wait although it fits.
func (e *epoch) checkFitting() {
	if e.leader().reservations != nil {
		return
	}
	synctest.Wait()
	for _, pod := range e.waiting() {
		if pod.DeletionTimestamp != nil || pod.Labels[v1alpha1.LabelGang] != "" || pod.Annotations[v1alpha1.AnnotationCPUPolicy] != "" {
			continue
		}
		h, _ := holding(pod)
		for name, node := range e.audit.nodes {
			if left := node.free(); left.cpu >= h.cpu && left.gpus >= h.count {
				explained, _ := e.leader().queue.Explain(string(pod.UID))
				e.audit.violation(string(pod.UID), "pod %s waits and fits %s, where %dm CPU and %d GPUs are free: %v", pod.Name, name, left.cpu, left.gpus, explained)
			}
		}
	}
}

// books has what is free on a node, and the UIDs of the pods that hold resources of the node.
type books struct {
	Pods      []string
	CPU, GPUs int64
	NUMA      map[topology.NodeID]int
}

// checkBooks checks that a controller's state of each node equals the API server's objects. It is
// called for the leader and for standby replicas.
func (e *epoch) checkBooks(c *controller) {
	synctest.Wait()
	for name, node := range e.audit.nodes {
		left := node.free()
		want := books{node.holders(), left.cpu, left.gpus, left.numa}
		record := c.state.Record(name)
		got := books{CPU: int64(record.Free.CPU), GPUs: record.Free.Extended.Of("nvidia.com/gpu"), NUMA: map[topology.NodeID]int{}}
		for _, on := range record.NUMA {
			got.NUMA[on.ID] = on.FreeCPUs
		}
		for _, a := range c.state.Assignments(name) {
			got.Pods = append(got.Pods, a.UID)
			if !a.Bound {
				e.audit.violation(a.UID, "node %s: the assignment of %s is still not known to be bound", name, a.UID)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			e.audit.violation("", "node %s, free and holders by the API server and by the controller (-want +got):\n%s", name, diff)
		}
	}
	if len(c.queue.List()) > 0 {
		e.audit.violation("", "no pod waits, and the queue has %v", c.queue.List())
	}
}
