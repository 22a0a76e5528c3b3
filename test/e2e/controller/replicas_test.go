//go:build e2e

package controller

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/numalet/numalet/test/hollowcluster"
)

// replicas are two controllers, one of which is the leader. A leader on a busy machine may lose its
// lease, and its process then ends. The method `tend` restarts such a controller, as a kubelet would.
type replicas struct {
	*world
	running [2]*hollowcluster.Controller
	logs    []string // of all replicas that were started
	fenced  int      // number of Bindings that replicas did not send because their lease had ended
}

// newReplicas starts two controllers with a lease of 3 s, and waits until both are ready.
func newReplicas(w *world) *replicas {
	w.Helper()
	r := &replicas{world: w}
	w.Cleanup(r.stop)
	for i := range r.running {
		r.start(i)
	}
	r.await("both replicas have read all there is", func() bool {
		r.tend(nil)
		return r.ready(r.running[0]) && r.ready(r.running[1])
	})
	return r
}

func (r *replicas) ready(c *hollowcluster.Controller) bool {
	ctx, cancel := context.WithTimeout(r.ctx, time.Second)
	defer cancel()
	return c.AwaitReady(ctx) == nil
}

// start starts the i-th replica, or starts it again after it has ended.
func (r *replicas) start(i int) {
	r.Helper()
	c, err := r.StartController(r.ctx, fmt.Sprintf("replica-%02d", len(r.logs)), *program,
		"-v=2", "--lease-duration=3s", "--bind-timeout=1s", "--proposers=8")
	r.must(err)
	r.running[i], r.logs = c, append(r.logs, c.Log)
}

func (r *replicas) stop() {
	for _, c := range r.running {
		if c != nil {
			_ = c.Signal(syscall.SIGCONT)
			_ = c.Stop(10 * time.Second)
		}
	}
	for _, log := range r.logs {
		r.show(log)
	}
}

// leader waits until a replica is the leader, and returns this replica. Meanwhile it restarts
// replicas that have ended. It neither returns nor restarts the replica in the argument `but`, which
// may be nil.
func (r *replicas) leader(but *hollowcluster.Controller) (leader *hollowcluster.Controller) {
	r.Helper()
	r.await("a replica leads", func() bool {
		r.tend(but)
		for _, c := range r.running {
			if c != but && r.leads(c) {
				leader = c
			}
		}
		return leader != nil
	})
	return leader
}

// tend restarts all replicas that have ended, except for the replica in the argument `but`, which may
// be nil.
func (r *replicas) tend(but *hollowcluster.Controller) {
	r.Helper()
	for i, c := range r.running {
		if c != but && over(c) {
			r.start(i)
		}
	}
}

func over(c *hollowcluster.Controller) bool {
	select {
	case <-c.Over():
		return true
	default:
		return false
	}
}

// leads reports whether a replica holds the lease of the leader, according to its own metrics.
func (r *replicas) leads(c *hollowcluster.Controller) bool {
	ctx, cancel := context.WithTimeout(r.ctx, time.Second)
	defer cancel()
	value, err := c.Metric(ctx, "numalet_scheduler_leader")
	return err == nil && value == 1
}

// kill kills the leader, waits until another replica is the leader, and restarts the killed
// replica.
func (r *replicas) kill(leader *hollowcluster.Controller) {
	r.Helper()
	r.must(leader.Signal(syscall.SIGKILL))
	<-leader.Over()
	r.leader(leader)
	r.leader(nil) // restarts the old leader
}

// freeze stops the leader's process with SIGSTOP, and waits until another replica is the leader.
// Then it calls the function given as `meanwhile`, and lets the stopped process continue. It checks
// that the old leader then notices that it has lost the lease, and ends.
func (r *replicas) freeze(leader *hollowcluster.Controller, meanwhile func()) {
	r.Helper()
	r.must(leader.Signal(syscall.SIGSTOP))
	r.leader(leader)
	meanwhile()
	r.must(leader.Signal(syscall.SIGCONT))
	select {
	case <-leader.Over():
	case <-time.After(30 * time.Second):
		r.Fatal("the old leader goes on for 30 s without its lease")
	}
	log, err := os.ReadFile(leader.Log)
	r.must(err)
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "bind pod") && strings.Contains(line, "the lease is lost") {
			r.fenced++
		}
	}
	r.leader(nil) // restarts the old leader
}
