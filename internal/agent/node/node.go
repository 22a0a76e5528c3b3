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

// Node decides which CPUs each container of this machine gets, and has the state for that. Its
// methods are called by the hooks of the container runtime, and when pods change. The methods are
// safe for concurrent use. One mutex guards the state and the writes to cgroups. One mutex for each
// pod would not be faster: a reservation writes the cgroups of all shared containers, and the
// runtime calls its hooks one after another anyway.
type Node struct {
	machine *topology.Machine
	cfg     Config
	env     Dependencies
	ended   chan struct{} // signals that a pod may have ended

	mu struct {
		sync.Mutex
		book   *book
		pods   map[string]*pod // by UID
		synced bool            // the runtime has listed its containers
		saved  *Snapshot       // content of the checkpoint file; nil if unknown, which it is at the start and after a failed write
		// confirm has the containers whose resize to more CPUs or memory the container runtime has
		// not confirmed yet, by container ID. The value is the time until which the runtime may
		// confirm the resize.
		confirm map[string]time.Time
		// resized has the shared containers whose resize the container runtime has not confirmed yet,
		// by container ID. The value is the time until which the agent writes their CPUs again and
		// again (see assertResized).
		resized map[string]time.Time
		// leave has the grants with CPUs that a container gave back in a resize, by Grant.UID. The
		// value is the earliest time at which these CPUs may become shared.
		leave map[string]time.Time
		// withheld has the CPUs that pods did not get because systemd did not apply all changes
		// in time, by UID of the pod.
		withheld map[string]withheld
		// awaited has the UIDs of pods with running containers of which the agent cannot tell whether
		// they get exclusive CPUs until it knows the pod (see adopt).
		awaited map[string]bool
		// background is true while work holds the mutex that no deadline of a hook limits (see
		// lockInBackground). patience is how long such work may still wait for systemd, as of the
		// time `patient`.
		background bool
		patience   time.Duration
		patient    time.Time
		// unconfined is true if the last write of the shared CPUs failed for the cgroup of any
		// sandbox or shared container.
		unconfined bool
		// narrow is true if containers or sandboxes in the cgroups of QoS classes may have cpusets
		// of their own (see widenSharers).
		narrow bool
	}
}

// pod is the sandboxes and containers that the container runtime has for one pod.
type pod struct {
	ref        workload.Pod
	cgroup     string
	qosCgroup  string                        // the cgroup of a QoS class that limits the pod to the shared CPUs, or ""
	sandboxes  map[string]workload.Sandbox   // by ID, including stopped ones
	containers map[string]workload.Container // by ID, including exited ones until they are removed
	newest     map[string]string             // ID of the newest container, by name
	gpus       map[string]bool               // device IDs of the GPUs of all containers that ran when the agent started, or were created later
	rejected   error                         // why the pod was rejected; nil for a pod that was not rejected
}

// New returns a node with the grants of a snapshot. It leaves out grants that it cannot restore. In
// this case it returns a valid node, and an error that names these grants. If New cannot create the
// ledger, it returns an error and a nil node. After a reboot, no container of the snapshot runs,
// but pods that still exist keep their CPUs, unless these no longer fit the machine (see the method
// `changed`).
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
	n.mu.confirm, n.mu.resized, n.mu.leave = map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	n.mu.withheld, n.mu.awaited = map[string]withheld{}, map[string]bool{}
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

// shared returns the CPUs on which all containers without exclusive CPUs run. These are the shared
// CPUs of the ledger without the withheld CPUs, which shared containers may not use yet (see
// withheld). If no CPU would be left, the method returns all shared CPUs of the ledger. Callers
// hold n.mu.
func (n *Node) shared() cpuset.Set {
	all := n.mu.book.ledger.Shared()
	if rest := all.Minus(n.allWithheld()); !rest.Empty() {
		return rest
	}
	return all
}

// decide returns the CPUs of a container according to the current grants. If the container has
// exclusive CPUs, decide returns those that are online. If none of them is online, it returns the
// shared CPUs. Callers hold n.mu.
func (n *Node) decide(c workload.Container) workload.Decision {
	if claim, ok := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name); ok {
		if cpus := claim.CPUs.Minus(n.mu.book.ledger.Lost(claim)); !cpus.Empty() {
			return workload.Decision{CPUs: cpus, Mems: claim.Mems, Exclusive: true, Partition: n.partition(c.Sandbox)}
		}
	}
	return workload.Decision{CPUs: n.shared()}
}

// save writes the checkpoint file if the grants have changed. After a failure, the file may have
// the old or the new grants. Callers hold n.mu.
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

// addContainer adds a container and its sandbox to n.mu.pods. Callers hold n.mu.
func (n *Node) addContainer(c workload.Container) {
	p := n.addSandbox(c.Sandbox)
	p.containers[c.ID] = c
	p.newest[c.Name] = c.ID
	for _, id := range v1alpha1.ParseAllocatedGPUs(c.Annotations) {
		p.gpus[id] = true
	}
}

// addSandbox adds a sandbox to n.mu.pods and returns its pod. Callers hold n.mu.
func (n *Node) addSandbox(s workload.Sandbox) *pod {
	p := n.mu.pods[s.Pod.UID]
	if p == nil {
		p = &pod{ref: s.Pod, sandboxes: map[string]workload.Sandbox{}, containers: map[string]workload.Container{}, newest: map[string]string{}, gpus: map[string]bool{}}
		n.mu.pods[s.Pod.UID] = p
	}
	p.cgroup, p.qosCgroup = s.PodCgroup, n.qosCgroup(s)
	p.sandboxes[s.ID] = s
	return p
}
