package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// TestScenarios runs the commands in testdata/*.txt, and compares their output with the output in
// these files. The output of a command is what it prints, its error, the events that it caused, and
// the overlaps: messages about processes that ran, or could run, on exclusive CPUs of another pod.
// The comment above the function of each command describes the arguments of the command.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, out *scenario.Answer) scenario.Commands { return newScript(t, out).commands })
}

// script runs the commands of the test scripts on a fake machine (world).
type script struct {
	*world
	t        *testing.T
	out      *scenario.Answer
	quiet    scenario.Commands // the commands by name; they print neither events nor overlaps
	commands scenario.Commands // the same commands, but each also prints events and overlaps
	made     int               // how many containers and sandboxes the script has created so far
	gpus     map[string]string // devices that the kubelet allocated to containers, by POD/CONTAINER
}

// newScript returns a script whose fake machine has no pods and no running agent.
func newScript(t *testing.T, out *scenario.Answer) *script {
	s := &script{world: newWorld(), t: t, out: out, gpus: map[string]string{}, commands: scenario.Commands{}}
	for name, do := range map[string]func(args []string) error{
		"agent": s.agent, "pod": s.pod, "run": s.run, "sandbox": s.newSandbox, "create": s.createContainer,
		"start": s.startContainer, "resynchronize": s.resynchronize, "exit": s.exitContainer, "stop": s.stopPod, "remove": s.removePod,
		"vanish": s.vanish, "phase": s.phase, "delete": s.delete, "annotate": s.annotate, "sweep": s.sweep, "late": s.setLate, "informer": s.informer,
		"break": s.breaks, "repair": s.repairs, "damage": s.damage, "reboot": s.reboot, "resize": s.resize, "quota": s.writeQuota, "wait": s.wait, "show": s.show, "report": s.report,
		"hide": s.hide, "unhide": s.unhide, "give": s.give, "gpus": s.showGPUs, "groups": s.setGroups, "systemd": s.setSystemd, "collect": s.collect, "offline": s.offline, "partitions": s.checkPartitions, "retry": s.retry, "end": s.endPartition, "online": s.online, "firmware": s.firmware,
	} {
		s.commands[name] = func(c *scenario.Command) { s.fail(do(c.Words)) }
	}
	s.quiet = s.commands
	s.commands = s.commands.After(func(*scenario.Command) { s.flush() })
	return s
}

// play runs script commands. It does not print the events and overlaps that the commands cause, but
// keeps them for later checks.
func (s *script) play(lines ...string) {
	s.t.Helper()
	s.quiet.Play(s.t, s.out, lines...)
}

// fail prints the reason of a refusal, or another error.
func (s *script) fail(err error) {
	if r := (*v1alpha1.Refusal)(nil); errors.As(err, &r) {
		s.out.Line("refused: %s", r.Reason)
	} else if err != nil {
		s.out.Line("error: %v", err)
	}
}

// flush prints the events and overlaps since the last flush.
func (s *script) flush() {
	for _, e := range s.events {
		s.out.Line("event: %s", e)
	}
	for _, o := range s.overlaps {
		s.out.Line("OVERLAP: %s", o)
	}
	s.events, s.overlaps = nil, nil
}

// agent runs the script command `agent start|kill [form=explicit] [reserved=LIST] [controller]
// [off] [full-cores]`, which starts or kills the agent. With `form=explicit`, pods request
// exclusive CPUs with limits by NUMA node, and otherwise with CPU policies. `reserved` sets the
// CPUs that are never exclusive. With `controller`, numalet-controller places pods. `off` disables
// exclusive CPUs on the node. With `full-cores`, the agent assigns only full cores.
func (s *script) agent(args []string) error {
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "form":
			s.cfg.RequestForm = map[string]v1alpha1.Form{"policy": v1alpha1.PolicyForm, "explicit": v1alpha1.ExplicitForm}[value]
		case "reserved":
			s.cfg.Reserved = cpuset.MustParse(value)
		case "controller":
			s.cfg.Controller = value != "false"
		case "off":
			s.cfg.Disabled = value != "false"
		case "full-cores":
			s.cfg.FullCores = value != "false"
		}
	}
	if args[0] == "kill" {
		s.node = nil
		return nil
	}
	return s.startAgent()
}

// resynchronize runs the script command `resynchronize`, which sends the agent the list of all
// sandboxes and containers again. The container runtime does so after its restart.
func (s *script) resynchronize([]string) error {
	s.synchronize()
	return nil
}

// newSandbox runs the script command `sandbox POD`, which creates a sandbox for a pod.
func (s *script) newSandbox(args []string) error {
	s.made++
	return s.sandbox(fmt.Sprintf("%s-s%02d", args[0], s.made), s.pods[args[0]])
}

// current returns the newest sandbox of a pod.
func (s *script) current(uid string) workload.Sandbox {
	var ids []string
	for id, sb := range s.sandboxes {
		if sb.Pod.UID == uid {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return workload.Sandbox{}
	}
	return s.sandboxes[ids[len(ids)-1]]
}

// createContainer runs the script command `create POD/CONTAINER [unpinned]`, which creates a
// container. With `unpinned`, the container runtime creates the container even while the agent is
// down.
func (s *script) createContainer(args []string) error {
	uid, name, _ := strings.Cut(args[0], "/")
	s.made++
	id := fmt.Sprintf("%s.%02d", name, s.made)
	c := containerOf(s.pods[uid], name, s.current(uid))
	if ids := s.gpus[args[0]]; ids != "" {
		c.Annotations[v1alpha1.AllocatedGPUs("nvidia.com/gpu")] = ids
	}
	return s.create(id, c, len(args) > 1)
}

// give runs the script command `give POD/CONTAINER ID,…`, which allocates GPUs to a container, as
// the kubelet does.
func (s *script) give(args []string) error {
	s.gpus[args[0]] = args[1]
	return nil
}

// setSystemd runs the script command `systemd down|up`, which sets whether systemd answers the
// agent.
func (s *script) setSystemd(args []string) error {
	s.systemd.down = args[0] == "down"
	return nil
}

// setGroups runs the script command `groups GPU=GROUP…`, which sets which GPU group reserves each
// GPU. After the command `groups` without arguments, the agent does not know the GPU groups.
func (s *script) setGroups(args []string) error {
	s.reserved = nil
	for gpu, group := range scenario.Pairs(strings.ReplaceAll(strings.Join(args, ","), "=", ":")) {
		if s.reserved == nil {
			s.reserved = map[string]string{}
		}
		s.reserved[gpu] = group
	}
	return nil
}

// showGPUs runs the script command `gpus`, which prints which pods hold which GPUs.
func (s *script) showGPUs([]string) error {
	for _, h := range s.node.GPUHolders() {
		s.out.Line("%s/%s %s", h.Namespace, h.Name, strings.Join(h.Devices, ","))
	}
	return nil
}

// instance returns the ID of the newest container for a name of the form POD/CONTAINER.
func (s *script) instance(name string) string {
	uid, name, _ := strings.Cut(name, "/")
	var ids []string
	for id, c := range s.containers {
		if c.Sandbox.Pod.UID == uid && c.Name == name {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return slices.Max(ids)
}

func (s *script) startContainer(args []string) error { return s.start(s.instance(args[0])) }

func (s *script) exitContainer(args []string) error {
	s.exit(s.instance(args[0]))
	return nil
}

// vanish runs the script command `vanish POD/CONTAINER`, which removes the cgroup of a container.
// The container then looks as if it had ended and the container runtime had not noticed this yet.
func (s *script) vanish(args []string) error {
	delete(s.groups, s.containers[s.instance(args[0])].Cgroup)
	delete(s.quotas, s.containers[s.instance(args[0])].Cgroup)
	return nil
}

// run runs the script command `run POD`, which creates the pod's sandbox and starts the pod's app
// containers, or `run POD/CONTAINER`, which creates and starts one container.
func (s *script) run(args []string) error {
	uid, _, one := strings.Cut(args[0], "/")
	names := []string{args[0]}
	if !one {
		if err := s.newSandbox(args); err != nil {
			return err
		}
		names = nil
		for _, c := range s.pods[uid].Spec.Containers {
			names = append(names, uid+"/"+c.Name)
		}
	}
	for _, name := range names {
		if err := s.createContainer(append([]string{name}, args[1:]...)); err != nil {
			return err
		}
		if err := s.start(s.instance(name)); err != nil {
			return err
		}
	}
	return nil
}

// stopPod runs the script command `stop POD [lost]`, which stops the newest sandbox of a pod. With
// `lost`, the agent gets no event about this.
func (s *script) stopPod(args []string) error {
	defer s.untold(args)()
	s.stopSandbox(s.current(args[0]).ID)
	return nil
}

// removePod runs the script command `remove POD [lost]`, which removes the oldest sandbox of a pod.
// With `lost`, the agent gets no event about this.
func (s *script) removePod(args []string) error {
	defer s.untold(args)()
	for _, id := range slices.Sorted(maps.Keys(s.sandboxes)) {
		if s.sandboxes[id].Pod.UID == args[0] {
			s.removeSandbox(id)
			return nil
		}
	}
	return nil
}

// hide runs the script command `hide POD`. From then on, the container runtime does not list the
// pod's sandboxes and containers, although their processes still run.
func (s *script) hide(args []string) error {
	s.hidden = args[0]
	return nil
}

// unhide runs the script command `unhide`. The container runtime then lists all pods again.
func (s *script) unhide([]string) error {
	s.hidden = ""
	return nil
}

// collect runs the script command `collect POD`, which removes the cgroup of a pod that has ended,
// as the kubelet does.
func (s *script) collect(args []string) error {
	s.world.removed[podCgroup(s.pods[args[0]])] = true
	return nil
}

// untold disconnects the agent from the container runtime if the second argument of a command is
// `lost`. The runtime then sends the agent no events. The caller must call the returned function,
// which connects the agent again.
func (s *script) untold(args []string) (back func()) {
	n := s.node
	if len(args) > 1 && args[1] == "lost" {
		s.node = nil
	}
	return func() { s.node = n }
}

// phase runs the script command `phase POD PHASE`, which sets the phase of a pod. If the agent has
// rejected the pod and the phase is Failed, the pod's status also gets the reason of the
// rejection.
func (s *script) phase(args []string) error {
	pod := s.pods[args[0]].DeepCopy()
	pod.Status.Phase = corev1.PodPhase(args[1])
	if why, rejected := s.rejected[args[0]]; rejected && pod.Status.Phase == corev1.PodFailed {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonPlacementRejected, Message: why,
		}}
	}
	s.pods[args[0]] = pod
	return nil
}

func (s *script) delete(args []string) error {
	delete(s.pods, args[0])
	return nil
}

// annotate runs the script command `annotate POD NAME=VALUE`, which sets an annotation of the pod
// in the API server.
func (s *script) annotate(args []string) error {
	name, value, _ := strings.Cut(args[1], "=")
	pod := s.pods[args[0]].DeepCopy()
	pod.Annotations[v1alpha1.Group+"/"+name] = value
	s.pods[args[0]] = pod
	return nil
}

func (s *script) sweep([]string) error {
	s.out.Line("%d ended pods still have processes", s.node.Sweep(context.Background()))
	return nil
}

// endPartition runs the script command `end POD/CONTAINER`, which makes the cgroup of a container
// an ordinary cgroup, as the kernel does when it ends a partition.
func (s *script) endPartition(args []string) error {
	s.groups[s.target(args[0])].partition = workload.NoPartition
	return nil
}

// checkPartitions runs the script command `partitions`, in which the agent checks and repairs the
// partitions of all containers.
func (s *script) checkPartitions([]string) error {
	s.node.assertPartitions(context.Background())
	return nil
}

// retry runs the script command `retry`, which calls Node.retry, as Run does at intervals of
// retryInterval.
func (s *script) retry([]string) error {
	s.node.retry(context.Background())
	return nil
}

func (s *script) setLate(args []string) error {
	s.late[args[0]] = len(args) == 1
	return nil
}

// informer runs the script command `informer away|synced`, which sets whether the agent's pod
// informer has listed the pods.
func (s *script) informer(args []string) error {
	s.unsynced = args[0] == "away"
	if !s.unsynced && s.node != nil {
		s.node.Reconcile(context.Background())
	}
	return nil
}

// breaks runs the script command `break disk|POD/CONTAINER|/burstable|irqbalance|interrupts|partitions|kernel`,
// which stays in force until the command `repair` with the same argument. With `disk`, writes of the
// checkpoint file fail. With POD/CONTAINER or /burstable, writes of the cgroup of the container or
// of the QoS class fail. With `partitions`, the kernel refuses to make partitions. For the other
// arguments, see isolator.
func (s *script) breaks(args []string) error {
	s.broken[s.target(args[0])] = true
	return nil
}

func (s *script) repairs(args []string) error {
	delete(s.broken, s.target(args[0]))
	return nil
}

func (s *script) target(name string) string {
	if !strings.Contains(name, "/") || name == burstable {
		return name
	}
	return s.current(strings.Split(name, "/")[0]).PodCgroup + "/" + s.instance(name)
}

func (s *script) damage([]string) error {
	s.disk = []byte("{")
	return nil
}

// reboot runs the script command `reboot`, which ends the agent and all containers. The API server
// and the disk keep their contents.
func (s *script) reboot([]string) error {
	clear(s.groups)
	clear(s.quotas)
	clear(s.containers)
	clear(s.sandboxes)
	s.node = nil
	s.cfg.BootID += "+"
	return nil
}

// offline runs the script command `offline LIST`, which sets CPUs offline. The fake kernel then
// reports neither the NUMA node nor the core of these CPUs, and moves their processes to other
// CPUs of the same container.
func (s *script) offline(args []string) error {
	gone := cpuset.MustParse(args[0])
	m := *s.machine
	m.CPUs, m.Nodes = slices.Clone(m.CPUs), slices.Clone(m.Nodes)
	for i, c := range m.CPUs {
		if gone.Has(c.ID) {
			m.CPUs[i] = topology.CPU{ID: c.ID, Package: topology.Unknown, NUMA: topology.Unknown, Core: topology.Unknown, LLC: topology.Unknown}
		}
	}
	for i := range m.Nodes {
		m.Nodes[i].CPUs = m.Nodes[i].CPUs.Minus(gone)
	}
	s.machine = &m
	for _, g := range s.groups {
		g.cpus = g.cpus.Minus(gone)
	}
	return nil
}

// online runs the script command `online`, which sets all CPUs online.
func (s *script) online([]string) error {
	s.machine = newWorld().machine
	return nil
}

// firmware runs the script command `firmware NODES [memoryless]`, which changes the number of NUMA
// nodes per package. With `memoryless`, the second NUMA node has no memory.
func (s *script) firmware(args []string) error {
	nodes, err := strconv.Atoi(args[0])
	s.machine = machinetest.Machine(2, 4).SMT(2).NodesPerPackage(nodes).Memory(8 << 30).Build()
	if len(args) > 1 {
		s.machine.Nodes[1].MemoryBytes = 0
	}
	return err
}

// report runs the script command `report [cpus]`, which prints the status of the NodeTopology. With
// `cpus`, it prints only how many CPUs there are, and how many of them are allocatable and
// available.
func (s *script) report(args []string) error {
	r := s.node.Report()
	if len(args) > 0 {
		s.out.Line("of %d CPUs %d are allocatable and %d available", r.CPUs.Capacity, r.CPUs.Allocatable, r.CPUs.Available)
		return nil
	}
	s.out.YAML(r)
	return nil
}

// show runs the script command `show`. The command prints the CPUs of all containers that have not
// exited. If the agent runs, it first prints which pod holds each CPU. It prints "throttled" after the
// CPUs of an exclusive container whose CPU time a CFS quota limits.
func (s *script) show([]string) error {
	if s.node != nil {
		s.showHeld(s.node.View())
	}
	for _, id := range slices.Sorted(maps.Keys(s.containers)) {
		if c := s.containers[id]; c.state != "exited" {
			g := group{cpus: c.decision.CPUs}
			if real := s.groups[c.Cgroup]; real != nil {
				g = *real
			}
			g.cpus = s.effective(c.Cgroup, g.cpus)
			text := g.String()
			if s.throttled(c) {
				text += " throttled"
			}
			s.out.Line("%s %s/%s on %s", c.state, c.Sandbox.Pod.Name, c.Name, text)
		}
	}
	return nil
}

// throttled reports whether the container runs, has exclusive CPUs, and has a CFS quota, of its own or
// of its pod.
func (s *script) throttled(c *runtimeContainer) bool {
	if s.node == nil || c.state != "running" || !s.quotas[c.Cgroup] && !s.quotas[c.Sandbox.PodCgroup] {
		return false
	}
	return slices.ContainsFunc(s.node.View().Held, func(h Holding) bool { return h.Pod == c.Sandbox.Pod && h.Container == c.Name })
}

func (s *script) showHeld(v View) {
	owner := map[cpuset.CPU]string{}
	for _, h := range v.Held {
		for c := range h.CPUs.All() {
			if owner[c] == "" {
				owner[c] = h.Pod.Name
			}
		}
	}
	for _, n := range s.machine.Nodes {
		s.out.Line("numa%d %s", n.ID, strip(n, owner))
	}
	s.out.Line("shared %s", v.Shared)
	if !s.isolated.Empty() {
		s.out.Line("isolated %s", s.isolated)
	}
	for _, h := range v.Held {
		s.out.Line("held %s/%s %s %s", h.Pod.Name, h.Container, h.Kind, h.CPUs)
	}
}

// strip returns one character for each CPU of a NUMA node: the first letter of the pod that holds
// the CPU, or "." for a shared CPU.
func strip(n topology.Node, owner map[cpuset.CPU]string) string {
	var b strings.Builder
	for c := range n.CPUs.All() {
		b.WriteString((owner[c] + ".")[:1])
	}
	return b.String()
}

// String returns "0-3", "0-3 mems [0]" or "0-3 isolated".
func (g group) String() string {
	text := g.cpus.String()
	if len(g.mems) > 0 {
		text += fmt.Sprintf(" mems %v", g.mems)
	}
	if g.partition != workload.NoPartition {
		text += " " + string(g.partition)
	}
	return text
}
