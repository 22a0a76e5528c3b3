package hollowcluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Controller is a numalet-controller process with the rights of its service account.
type Controller struct {
	*Process
	Health  string // host:port of /readyz
	Metrics string // host:port of /metrics
	Queue   string // host:port of the queue API
}

// StartController starts a replica of the controller with the given additional flags (settings).
// Call Install first.
func (p *Plane) StartController(ctx context.Context, name, program string, settings ...string) (*Controller, error) {
	kubeconfig, err := p.Account(ctx, "numalet-system", "numalet-controller")
	if err != nil {
		return nil, err
	}
	c := &Controller{}
	for _, address := range []*string{&c.Health, &c.Metrics, &c.Queue} {
		if *address, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	args := append([]string{
		"--kubeconfig=" + kubeconfig, "--health-addr=" + c.Health, "--metrics-addr=" + c.Metrics, "--metrics-secure=false", "--queue-addr=" + c.Queue,
	}, settings...)
	c.Process, err = p.Start(name, program, args...)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// GiveUpLease creates a Lease without a holder, as if a former leader had released it. Without this
// Lease, the first replica would wait before it begins to lead, in case a former leader has
// Bindings that are still in progress. A leader releases its Lease only when none of its Bindings
// is in progress.
func (p *Plane) GiveUpLease(ctx context.Context, namespace, name string) error {
	client, err := p.API()
	if err != nil {
		return err
	}
	seconds, nobody := int32(1), ""
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	lease.Spec.LeaseDurationSeconds, lease.Spec.HolderIdentity = &seconds, &nobody
	_, err = client.CoordinationV1().Leases(namespace).Create(ctx, lease, metav1.CreateOptions{})
	return err
}

// AwaitReady waits until the controller is ready. A ready controller has handled the initial lists
// of nodes, NodeTopologies and pods, and the admission policies that confine it are in force.
func (c *Controller) AwaitReady(ctx context.Context) error {
	for {
		err := c.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the controller: %w: see %s", err, c.Log)
		case <-c.Over():
			return fmt.Errorf("the controller ended: see %s", c.Log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Ready returns why the controller is not ready, or nil.
func (c *Controller) Ready(ctx context.Context) error {
	_, err := get(ctx, c.Health, "/readyz")
	return err
}

// profiled is the duration of a CPU profile.
const profiled = 30 * time.Second

// Profile writes a CPU profile of the next 30 seconds to NAME.cpu.pprof, and an allocation profile of
// the next 32 seconds to NAME.allocs.pprof. The controller must run with --profiling.
func (c *Controller) Profile(ctx context.Context, name string) error {
	// An allocation profile contains only allocations before the last garbage collection. So the
	// garbage collector runs twice: before the profiles start, and after the end of the CPU
	// profile. The allocation profile ends two seconds later, so that the second run is over by
	// then.
	if err := c.collect(ctx); err != nil {
		return err
	}
	var both errgroup.Group
	both.Go(func() error {
		if err := c.profile(ctx, "profile", profiled, name+".cpu.pprof"); err != nil {
			return err
		}
		return c.collect(ctx)
	})
	both.Go(func() error { return c.profile(ctx, "allocs", profiled+2*time.Second, name+".allocs.pprof") })
	return both.Wait()
}

// collect makes the controller run the garbage collector.
func (c *Controller) collect(ctx context.Context) error {
	_, err := get(ctx, c.Metrics, "/debug/pprof/heap?gc=1")
	return err
}

// profile writes a profile (such as allocs) of the given duration to a file.
func (c *Controller) profile(ctx context.Context, path string, long time.Duration, file string) error {
	text, err := get(ctx, c.Metrics, fmt.Sprintf("/debug/pprof/%s?seconds=%.0f", path, long.Seconds()))
	if err != nil {
		return fmt.Errorf("profile the controller: %w", err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// Metric returns the value of a metric. The name includes the labels, as in /metrics.
func (c *Controller) Metric(ctx context.Context, name string) (value float64, err error) {
	text, err := get(ctx, c.Metrics, "/metrics")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, name+" "); ok {
			_, err = fmt.Sscan(after, &value)
			return value, err
		}
	}
	return 0, fmt.Errorf("read metric %s of %s: there is none", name, c.Metrics)
}

// get sends a GET request to one of the controller's HTTP servers, and returns the body of the
// response.
func get(ctx context.Context, address, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return string(body), err
}

// freeAddress returns a loopback address that is not in use.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
