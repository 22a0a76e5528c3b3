package node

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// Node is the state of this machine. Its methods are the hooks of a runtime and the
// changes of pods. They are safe for concurrent use but run one after another, in
// O(containers of the machine) each. One lock, which also covers writes to cgroups,
// was preferred to a lock per pod: a reservation writes all shared containers, and
// the runtime calls its hooks one after another anyway.
type Node struct {
	machine *topology.Machine
	cfg     Config
	env     Dependencies
	ended   chan struct{} // some pod may have ended

	mu struct {
		sync.Mutex
		book   *book
		pods   map[string]*pod // by UID
		synced bool            // the runtime has listed its containers
		saved  *Snapshot       // content of the checkpoint; nil when unknown
		// confirm is until when the runtime may still confirm a growth, by container ID.
		confirm map[string]time.Time
		// leave is when the CPUs that a pod gave back become shared, by Grant.UID.
		leave map[string]time.Time
	}
}

// pod is the running part of a pod.
type pod struct {
	ref        workload.Pod
	cgroup     string
	sandboxes  map[string]workload.Sandbox   // by ID, including stopped ones
	containers map[string]workload.Container // by ID, including exited ones until they are removed
	newest     map[string]string             // ID of the newest container, by name
	gpus       map[string]bool               // IDs of the GPUs of all of its containers until now
	rejected   error                         // why it was rejected; nil if it was not
}

// New returns a node with the grants of a snapshot. Grants that cannot be restored are
// left out and are in the error, beside a valid node; only a nil *Node is fatal. After
// a reboot no container of the snapshot runs, but pods that still exist keep their
// CPUs, unless the machine has changed.
func New(m *topology.Machine, cfg Config, env Dependencies, s Snapshot) (*Node, error) {
	ledger, err := pool.New(m, pool.Options{Reserved: cfg.Reserved, FullCores: cfg.FullCores, ReservedMemory: cfg.ReservedMemory})
	if err != nil {
		return nil, fmt.Errorf("create the ledger: %w", err)
	}
	if cfg.PodWait == 0 {
		cfg.PodWait = time.Second
	}
	n := &Node{machine: m, cfg: cfg, env: env, ended: make(chan struct{}, 1)}
	n.mu.book = &book{ledger: ledger, held: map[string]Held{}}
	n.mu.pods = map[string]*pod{}
	n.mu.confirm, n.mu.leave = map[string]time.Time{}, map[string]time.Time{}
	return n, n.restore(s)
}

func (n *Node) restore(s Snapshot) error {
	var errs []error
	for _, h := range s.Held {
		if s.BootID != n.cfg.BootID {
			if why := n.changed(h); why != nil {
				errs = append(errs, fmt.Errorf("drop the grant of CPUs %s to pod %s: %w", h.Grant.CPUs(), h.Pod, why))
				continue
			}
		}
		if err := n.mu.book.restore(h); err != nil {
			errs = append(errs, fmt.Errorf("restore the grant of CPUs %s to pod %s: %w", h.Grant.CPUs(), h.Pod, err))
		}
	}
	return errors.Join(errs...)
}

// shared returns the CPUs of all containers without a grant. Callers hold the lock.
func (n *Node) shared() cpuset.Set { return n.mu.book.ledger.Shared() }

// decide returns the CPUs of a container by the current grants. A container that runs
// continues on those of its CPUs that are online, or on shared ones if none is. Callers
// hold the lock.
func (n *Node) decide(c workload.Container) workload.Decision {
	if claim, ok := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name); ok {
		if cpus := claim.CPUs.Minus(n.mu.book.ledger.Lost(claim)); !cpus.Empty() {
			return workload.Decision{CPUs: cpus, Mems: claim.Mems, Exclusive: true}
		}
	}
	return workload.Decision{CPUs: n.shared()}
}

// save writes the checkpoint if the grants have changed. After a failure it may have
// the old or the new grants. Callers hold the lock.
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

// addContainer adds a container and its sandbox. Callers hold the lock.
func (n *Node) addContainer(c workload.Container) {
	p := n.addSandbox(c.Sandbox)
	p.containers[c.ID] = c
	p.newest[c.Name] = c.ID
	for _, id := range v1alpha1.ParseAllocatedGPUs(c.Annotations) {
		p.gpus[id] = true
	}
}

// addSandbox adds a sandbox and returns its pod. Callers hold the lock.
func (n *Node) addSandbox(s workload.Sandbox) *pod {
	p := n.mu.pods[s.Pod.UID]
	if p == nil {
		p = &pod{ref: s.Pod, sandboxes: map[string]workload.Sandbox{}, containers: map[string]workload.Container{}, newest: map[string]string{}, gpus: map[string]bool{}}
		n.mu.pods[s.Pod.UID] = p
	}
	p.cgroup = s.PodCgroup
	p.sandboxes[s.ID] = s
	return p
}
