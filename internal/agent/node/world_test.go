package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// world is a fake machine with a kernel, a container runtime and an API server, all in memory. Its
// field `node` is the Node under test.
type world struct {
	machine *topology.Machine
	cfg     Config
	node    *Node // nil while the agent is down

	groups   map[string]*group // the cgroups of the fake kernel that have a cpuset, by path: those of containers and pause processes, and that of one QoS class, which exists once it has had a pod
	quotas   map[string]bool   // whether the cgroup of a pod or a container has a CFS quota, by path; lacks cgroups that do not exist
	removed  map[string]bool   // cgroups of pods that the kubelet has removed
	overlaps []string          // messages about processes that ran on exclusive CPUs of another pod, or that could do so after a daemon-reload; the tests check that there are none

	sandboxes  map[string]workload.Sandbox  // the sandboxes that the runtime has, by ID
	containers map[string]*runtimeContainer // the containers that the runtime has, by ID
	hidden     string                       // UID of a pod that the runtime has, but does not list; "" for none
	pods       map[string]*corev1.Pod       // the pods that the API server has, by UID
	late       map[string]bool              // pods that the informer does not know yet
	unsynced   bool                         // the informer has not listed the pods yet
	disk       []byte                       // the checkpoint
	saves      int                          // how often the checkpoint was saved so far
	wrote      map[Why]int                  // how many cpusets of shared containers the agent has written so far, by reason
	broken     map[string]bool              // cgroups that cannot be written; "disk" if the checkpoint cannot be written
	systemd    systemd
	events     []string
	rejected   map[string]string // messages for the pods that must be set to Failed, by UID
	refused    []v1alpha1.Reason
	isolated   cpuset.Set        // CPUs off which interrupts are kept
	now        time.Duration     // time since the start of the test
	reserved   map[string]string // the GPU group that reserves a GPU, by ID of the GPU; nil if the groups are not known
}

// burstable is the cgroup of the QoS class Burstable. The fake kernel intersects the cpuset of each
// cgroup below /burstable with the cpuset of /burstable.
const burstable = "/burstable"

// group is one cgroup.
type group struct {
	cpus      cpuset.Set // empty if none are set; the cgroup then has the CPUs of its parent
	mems      []topology.NodeID
	partition workload.Partition
	procs     bool
}

type runtimeContainer struct {
	workload.Container
	decision workload.Decision // the CPUs in its spec
	state    string            // created, running, exited
}

func newWorld() *world {
	return &world{
		machine:    machinetest.Machine(2, 4).SMT(2).NodesPerPackage(2).Memory(8 << 30).Build(),
		cfg:        Config{RequestForm: v1alpha1.PolicyForm, Reserved: cpuset.Of(0), BootID: "boot1", PodWait: time.Millisecond},
		groups:     map[string]*group{},
		quotas:     map[string]bool{},
		removed:    map[string]bool{},
		sandboxes:  map[string]workload.Sandbox{},
		containers: map[string]*runtimeContainer{},
		pods:       map[string]*corev1.Pod{},
		late:       map[string]bool{},
		broken:     map[string]bool{},
		wrote:      map[Why]int{},
		rejected:   map[string]string{},
		reserved:   map[string]string{},
		systemd:    systemd{acknowledged: map[string]string{}, pending: map[string]string{}},
	}
}

// gpusFreed records the agent's report that a pod no longer holds GPUs.
func (w *world) gpusFreed() { w.events = append(w.events, "GPUs are free") }

func (w *world) groupOf(id string) (string, bool) {
	return w.reserved[v1alpha1.GPUOf(id)], w.reserved != nil
}

// startAgent starts the agent from the checkpoint on the disk, and connects it
// to the container runtime.
func (w *world) startAgent() error {
	err := w.launchAgent()
	w.synchronize()
	return err
}

// launchAgent starts the agent from the checkpoint on the disk. It does not connect it to the
// container runtime.
func (w *world) launchAgent() error {
	var s Snapshot
	if len(w.disk) > 0 {
		if err := json.Unmarshal(w.disk, &s); err != nil {
			s = Snapshot{}
		}
	}
	var err error
	w.node, err = New(w.machine, w.cfg, Dependencies{
		Pods: w, Cgroups: w, Processes: w, Store: w, Events: w, Rejecter: w, Observer: w, Isolator: isolator{w}, GroupOf: w.groupOf, GPUsFreed: w.gpusFreed, Now: func() time.Time { return time.Time{}.Add(w.now) },
	}, s)
	return err
}

// isolator is a fake Isolator. After the script command `break irqbalance`, its method Check fails.
// After `break interrupts`, its method Isolate fails. After `break kernel`, its method Partitions
// says that the kernel does not support cpuset partitions.
type isolator struct{ *world }

func (i isolator) Partitions() bool { return !i.broken["kernel"] }

func (i isolator) Check() error {
	if i.broken["irqbalance"] {
		return errors.New("irqbalance runs on the node")
	}
	return nil
}

func (i isolator) Isolate(_ context.Context, cpus cpuset.Set) error {
	if i.broken["interrupts"] {
		return errors.New("no space left in the vector table")
	}
	i.world.isolated = cpus
	return nil
}

func (w *world) synchronize() {
	var containers []workload.Container
	for _, id := range slices.Sorted(maps.Keys(w.containers)) {
		if c := w.containers[id]; c.state != "exited" && c.Sandbox.Pod.UID != w.hidden {
			containers = append(containers, c.Container)
		}
	}
	sandboxes := slices.SortedFunc(maps.Values(w.sandboxes), func(a, b workload.Sandbox) int { return strings.Compare(a.ID, b.ID) })
	sandboxes = slices.DeleteFunc(sandboxes, func(s workload.Sandbox) bool { return s.Pod.UID == w.hidden })
	w.node.Synchronize(context.Background(), sandboxes, containers)
}

// Pod returns a pod from the fake pod informer. Wait does the same, without waiting. HasSynced
// says whether the informer has listed the pods.
func (w *world) Pod(known workload.Pod) (*corev1.Pod, bool) {
	p, ok := w.pods[known.UID]
	return p, ok && !w.late[known.UID] && !w.unsynced
}

func (w *world) Wait(_ context.Context, known workload.Pod) (*corev1.Pod, bool) { return w.Pod(known) }
func (w *world) HasSynced() bool                                                { return !w.unsynced }

// Confine writes a cgroup of the fake kernel.
func (w *world) Confine(_ context.Context, path string, d workload.Decision) error {
	g := w.groups[path]
	switch {
	case g == nil:
		return fmt.Errorf("confine %s: %w", path, fs.ErrNotExist)
	case d.CPUs.Empty():
		return errors.New("empty set")
	case !d.CPUs.SubsetOf(w.machine.Online()):
		return fmt.Errorf("the kernel puts %s of %s in force", d.CPUs.Intersect(w.machine.Online()), d.CPUs)
	case w.broken[path]:
		return fmt.Errorf("write %s/cpuset.cpus: input/output error", path)
	}
	if d.Partition != workload.NoPartition && g.partition != d.Partition && w.broken["partitions"] {
		return fmt.Errorf("isolate %s: %w", path, workload.ErrPartition)
	}
	if got := w.effective(path, d.CPUs); d.Exclusive && !got.Equal(d.CPUs) || !got.SubsetOf(d.CPUs) {
		return fmt.Errorf("the kernel puts %s of %s in force", got, d.CPUs)
	}
	g.cpus, g.partition = d.CPUs, d.Partition
	if d.Mems != nil {
		g.mems = d.Mems
	}
	w.systemd.note(path, d.CPUs.String())
	w.look()
	return nil
}

// Effective returns the CPUs that a cgroup of the fake kernel can really use.
func (w *world) Effective(path string) (cpuset.Set, []topology.NodeID, error) {
	g := w.groups[path]
	if g == nil {
		return cpuset.Set{}, nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	return w.effective(path, g.cpus), g.mems, nil
}

// Configured returns the CPUs that are set for a cgroup of the fake kernel.
func (w *world) Configured(path string) (cpuset.Set, error) {
	g := w.groups[path]
	if g == nil {
		return cpuset.Set{}, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	return g.cpus, nil
}

// Limits reports whether a cgroup of the fake kernel has only the given CPUs, and whether the fake
// systemd has acknowledged them.
func (w *world) Limits(path string, to cpuset.Set) bool {
	g := w.groups[path]
	return g != nil && !g.cpus.Empty() && w.effective(path, g.cpus).SubsetOf(to) && w.systemd.acknowledged[path] == g.cpus.String()
}

// QoSCgroups returns the one cgroup of a QoS class that the fake kernel may have. QoSCgroup returns
// it for a pod in this cgroup.
func (w *world) QoSCgroups() []string {
	if w.groups[burstable] == nil {
		return nil
	}
	return []string{burstable}
}

func (w *world) QoSCgroup(podCgroup string) string {
	if strings.HasPrefix(podCgroup, burstable+"/") {
		return burstable
	}
	return ""
}

// effective returns the CPUs that a cgroup of the fake kernel can really use. The parameter `set`
// has the CPUs that are configured for the cgroup.
func (w *world) effective(path string, set cpuset.Set) cpuset.Set {
	parent := w.machine.Online()
	if class := w.groups[burstable]; class != nil && strings.HasPrefix(path, burstable+"/") {
		parent = w.effective(burstable, class.cpus)
	}
	if both := set.Intersect(parent); !both.Empty() {
		return both
	}
	return parent
}

// podCgroup returns the cgroup that the kubelet makes for a pod.
func podCgroup(pod *corev1.Pod) string {
	if pod.Status.QOSClass == corev1.PodQOSBurstable {
		return burstable + "/pod" + string(pod.UID)
	}
	return "/pod" + string(pod.UID)
}

// LiftQuota removes the CFS quota of a cgroup of the fake kernel. Persist sends this change to the
// fake systemd.
func (w *world) LiftQuota(_ context.Context, path string) error {
	limited, exists := w.quotas[path]
	if !exists {
		return fmt.Errorf("lift quota of %s: %w", path, fs.ErrNotExist)
	}
	if limited {
		w.quotas[path] = false
		w.systemd.note(path+" quota", "none")
	}
	return nil
}

func (w *world) Persist(ctx context.Context) error {
	if w.systemd.calls++; w.systemd.calls == w.systemd.failAt {
		return errors.New("systemd is late")
	}
	if w.systemd.hangs {
		return w.systemd.hang(ctx)
	}
	if w.systemd.slow {
		return w.systemd.wait(ctx)
	}
	if w.systemd.down {
		return errors.New("systemd does not answer")
	}
	if w.systemd.limit > 0 {
		return w.systemd.applySome()
	}
	w.systemd.reload()
	return nil
}

// PersistLater calls systemd once and immediately, as if the agent's loop for this had no delay. If
// the field `limit` of systemd is set, systemd applies at most this number of units. Otherwise it
// applies all pending units. If systemd is down or slow, or if it hangs, PersistLater does nothing.
func (w *world) PersistLater() {
	switch {
	case w.systemd.down || w.systemd.slow || w.systemd.hangs:
	case w.systemd.limit > 0:
		_ = w.systemd.applySome() // the rest stays pending
	default:
		w.systemd.apply()
	}
}

// PodEmpty reports whether no cgroup below the pod's cgroup has processes.
func (w *world) PodEmpty(cgroup string) (bool, error) {
	for path, g := range w.groups {
		if strings.HasPrefix(path, cgroup+"/") && g.procs {
			return false, nil
		}
	}
	return true, nil
}

// PodExists reports whether the pod's cgroup still exists. The script command `collect` removes
// it.
func (w *world) PodExists(cgroup string) (bool, error) { return !w.removed[cgroup], nil }

// Save writes the checkpoint to the fake disk.
func (w *world) Save(s Snapshot) error {
	if w.broken["disk"] {
		return errors.New("no space left on device")
	}
	text, err := json.Marshal(s)
	w.disk = text
	w.saves++
	return err
}

// Warn records an event of type Warning.
func (w *world) Warn(p workload.Pod, reason, message string) {
	w.events = append(w.events, fmt.Sprintf("%s %s: %s", p, reason, short(w.refused[len(w.refused)-1], message)))
}

// Note records an event of type Normal.
func (w *world) Note(p workload.Pod, reason, message string) {
	w.events = append(w.events, fmt.Sprintf("%s %s: %s", p, reason, message))
}

// short returns the whole message of a refusal with one of the reasons below, which package node
// defines. For other reasons it returns only the reason.
func short(r v1alpha1.Reason, message string) string {
	switch r {
	case CheckpointFailed, CgroupFailed, FormNotServed, GPUReserved, MachineChanged, NotAsked, NotReady, PlacementRejected, PodUnknown, Resize, SMTAlignment, SwitchedOff:
		return message
	}
	return string(r)
}

// Reject records that the agent asked to set a pod to Failed. The script command `phase` later
// sets the pod's status.
func (w *world) Reject(p workload.Pod, reason, message string) {
	w.rejected[p.UID] = message
	w.events = append(w.events, fmt.Sprintf("%s is to fail: %s", p, reason))
}

func (w *world) Refused(r v1alpha1.Reason)                   { w.refused = append(w.refused, r) }
func (w *world) Saved(time.Duration)                         {}
func (w *world) Wrote(why Why, cgroups int, _ time.Duration) { w.wrote[why] += cgroups }

// look records an overlap for every cgroup that has processes and an exclusive CPU of another pod's
// container. A pause process must not use the exclusive CPUs of its own pod either.
func (w *world) look() {
	for _, c := range w.containers {
		mine := w.groups[c.Cgroup]
		if mine == nil || !mine.procs || !c.decision.Exclusive {
			continue
		}
		for path, other := range w.groups {
			cpus := w.effective(path, other.cpus)
			if path != c.Cgroup && other.procs && cpus.Overlaps(mine.cpus) && !w.reuses(c, path) {
				w.overlaps = append(w.overlaps, fmt.Sprintf("%s and %s both run on %s", c.Cgroup, path, cpus.Intersect(mine.cpus)))
			}
		}
	}
}

// reuses reports whether `path` is the cgroup of a container of c's pod. Such a container may reuse
// the CPUs of c.
func (w *world) reuses(c *runtimeContainer, path string) bool {
	return strings.HasPrefix(path, c.Sandbox.PodCgroup+"/") && !strings.HasSuffix(path, "/pause")
}

// sandbox creates a new sandbox for a pod, as the container runtime does. If the agent refuses the
// sandbox, the runtime ends the pause process, but does not report this to the agent.
func (w *world) sandbox(id string, pod *corev1.Pod) error {
	uid := string(pod.UID)
	s := workload.Sandbox{
		ID: id, Pod: workload.Pod{UID: uid, Namespace: pod.Namespace, Name: pod.Name}, Annotations: maps.Clone(pod.Annotations),
		PodCgroup: podCgroup(pod), Cgroup: podCgroup(pod) + "/" + id + "/pause",
	}
	if w.QoSCgroup(s.PodCgroup) != "" && w.groups[burstable] == nil {
		w.groups[burstable] = &group{}
	}
	if _, exists := w.quotas[s.PodCgroup]; !exists { // the kubelet creates the cgroup of the pod with a quota
		w.quotas[s.PodCgroup] = true
	}
	w.groups[s.Cgroup] = &group{procs: true}
	w.sandboxes[id] = s
	if w.node == nil {
		return nil
	}
	err := w.node.RunSandbox(w.hook(), s)
	if err != nil {
		delete(w.groups, s.Cgroup)
		delete(w.sandboxes, id)
	}
	return err
}

// create creates a container, as the container runtime does. It fails while the agent is down,
// because containerd's configuration lists the agent in required_plugins. If the parameter
// `unpinned` is true, it does not fail, as if the configuration had no required_plugins.
func (w *world) create(id string, c workload.Container, unpinned bool) error {
	r := &runtimeContainer{Container: c, state: "created"}
	r.ID, r.Cgroup = id, c.Sandbox.PodCgroup+"/"+id
	switch {
	case w.node == nil && !unpinned:
		return errors.New("required plugin numalet is missing")
	case w.node == nil:
		r.decision.CPUs = w.machine.Online()
	default:
		answer, err := w.node.Create(w.hook(), r.Container)
		if err != nil {
			w.node.Remove(r.Container)
			return err
		}
		r.decision = answer.Decision
		w.correct(answer.Specs)
		w.lookAtUnits(id, answer.Decision)
		r.Resources.CPUs, r.Resources.Mems = r.decision.CPUs, r.decision.Mems
		if r.decision.Exclusive {
			r.Resources.QuotaMicros = -1
		}
	}
	w.containers[id] = r
	return nil
}

// correct applies the new specs that the agent returned, as the container runtime does. It changes
// only containers that have not started.
func (w *world) correct(specs []workload.Spec) {
	for _, s := range specs {
		if c := w.containers[s.ContainerID]; c != nil && c.state == "created" {
			c.decision.CPUs, c.Resources.CPUs = s.CPUs, s.CPUs
		}
	}
}

// start starts a container, as the container runtime does: it creates the cgroup, calls the
// agent's hook, and then starts the container's program.
func (w *world) start(id string) error {
	c := w.containers[id]
	if c == nil {
		return errors.New("it was not created")
	}
	w.groups[c.Cgroup] = &group{cpus: c.decision.CPUs, mems: c.decision.Mems}
	w.quotas[c.Cgroup] = c.Resources.QuotaMicros > 0
	if w.node != nil {
		if err := w.node.Start(w.hook(), c.Container); err != nil {
			w.exit(id)
			return err
		}
		w.lookAtUnits(id, c.decision)
	}
	w.groups[c.Cgroup].procs = true
	c.state = "running"
	w.look()
	return nil
}

func (w *world) exit(id string) {
	delete(w.groups, w.containers[id].Cgroup)
	delete(w.quotas, w.containers[id].Cgroup)
	w.containers[id].state = "exited"
}

func (w *world) remove(id string) {
	c := w.containers[id]
	delete(w.containers, id)
	if w.node != nil {
		w.node.Remove(c.Container)
	}
}

// stopSandbox ends the pause process and all containers of a sandbox.
func (w *world) stopSandbox(id string) {
	s := w.sandboxes[id]
	for cid, c := range w.containers {
		if c.Sandbox.ID == id {
			w.exit(cid)
		}
	}
	delete(w.groups, s.Cgroup)
	if w.node != nil {
		w.node.StopSandbox(w.hook(), s)
	}
}

func (w *world) removeSandbox(id string) {
	s := w.sandboxes[id]
	for cid, c := range w.containers {
		if c.Sandbox.ID == id {
			w.remove(cid)
		}
	}
	delete(w.sandboxes, id)
	if w.node != nil {
		w.node.RemoveSandbox(w.hook(), s)
	}
}
