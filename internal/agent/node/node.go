package node

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// Node is this machine's orchestrator. Its methods are the hooks of a runtime
// and the news about pods; they may be called concurrently and work one after
// another, in O(containers of the machine) each. One lock over everything,
// cgroup writes included, was preferred to a lock per pod: a carve touches
// every container that shares, and the runtime calls its hooks one by one anyway.
type Node struct {
	machine *topology.Machine
	cfg     Config
	env     Env
	ended   chan struct{} // some pod may have ended: look

	mu struct {
		sync.Mutex
		book   *book
		pods   map[string]*pod // by UID
		synced bool            // the runtime has listed its containers
		saved  *Snapshot       // what the checkpoint holds; nil when that is in doubt
	}
}

// pod is what runs of a pod.
type pod struct {
	ref        workload.Pod
	cgroup     string
	sandboxes  map[string]workload.Sandbox   // by ID; stopped ones too
	containers map[string]workload.Container // by ID; exited ones too, until they are removed
	rejected   error                         // why it may not run here; nil while it may
}

// New returns a node that holds what the snapshot says. A grant that cannot be
// taken back is left out and told of in the error, beside a valid node; only a
// nil *Node is fatal. On another boot than the snapshot's nothing runs any more:
// the pods that still exist keep their CPUs, except for grants that today's
// machine or reservation no longer allows, which are made anew.
func New(m *topology.Machine, cfg Config, env Env, s Snapshot) (*Node, error) {
	ledger, err := pool.New(m, pool.Options{Reserved: cfg.Reserved, FullCores: cfg.FullCores})
	if err != nil {
		return nil, fmt.Errorf("set up the ledger: %w", err)
	}
	if cfg.PodWait == 0 {
		cfg.PodWait = time.Second
	}
	n := &Node{machine: m, cfg: cfg, env: env, ended: make(chan struct{}, 1)}
	n.mu.book = &book{ledger: ledger, held: map[string]Held{}}
	n.mu.pods = map[string]*pod{}
	return n, n.restore(s)
}

func (n *Node) restore(s Snapshot) error {
	allowed := n.machine.Online().Minus(n.cfg.Reserved)
	var errs []error
	for _, h := range s.Held {
		if s.BootID != n.cfg.BootID && !h.Grant.CPUs().SubsetOf(allowed) {
			errs = append(errs, fmt.Errorf("forget CPUs %s of pod %s: they are offline or reserved since the reboot", h.Grant.CPUs(), h.Pod))
			continue
		}
		if err := n.mu.book.restore(h); err != nil {
			errs = append(errs, fmt.Errorf("restore CPUs %s of pod %s: %w", h.Grant.CPUs(), h.Pod, err))
		}
	}
	return errors.Join(errs...)
}

// shared is where everybody is who holds nothing. Callers hold the lock.
func (n *Node) shared() cpuset.Set { return n.mu.book.ledger.Shared() }

// decide returns where a container belongs by what is held now. Callers hold
// the lock.
func (n *Node) decide(c workload.Container) workload.Decision {
	if claim, ok := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name); ok {
		return workload.Decision{CPUs: claim.CPUs, Mems: claim.Mems, Exclusive: true}
	}
	return workload.Decision{CPUs: n.shared()}
}

// save makes the book durable, unless it is as it was saved last. After a
// failure the checkpoint may hold the old or the new. Callers hold the lock.
func (n *Node) save() error {
	now := Snapshot{BootID: n.cfg.BootID, Held: n.mu.book.sorted()}
	if n.mu.saved != nil && reflect.DeepEqual(*n.mu.saved, now) {
		return nil
	}
	n.mu.saved = nil
	start := n.env.Now()
	err := n.env.Store.Save(now)
	n.env.Observer.Saved(n.env.Now().Sub(start))
	if err == nil {
		n.mu.saved = &now
	}
	return err
}

// remember notes a container and its sandbox. Callers hold the lock.
func (n *Node) remember(c workload.Container) {
	p := n.see(c.Sandbox)
	p.containers[c.ID] = c
}

// see notes a sandbox. Callers hold the lock.
func (n *Node) see(s workload.Sandbox) *pod {
	p := n.mu.pods[s.Pod.UID]
	if p == nil {
		p = &pod{ref: s.Pod, sandboxes: map[string]workload.Sandbox{}, containers: map[string]workload.Container{}}
		n.mu.pods[s.Pod.UID] = p
	}
	p.cgroup = s.PodCgroup
	p.sandboxes[s.ID] = s
	return p
}
