package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// actor is a pod of the demo. The demo draws pictures of the machine, in which the letter of a pod
// marks the pod's exclusive CPUs. The letter is 0 for pods with shared CPUs. It is also 0 for the
// pods with GPUs, because no picture shows them.
type actor struct {
	letter byte
	pod    *corev1.Pod
}

func cast() []actor {
	return []actor{
		{0, e2eutil.Pod("web", "", e2eutil.Container{Name: "c", CPU: "250m"})},
		{'A', e2eutil.Pod("training", "spread", e2eutil.Container{Name: "c", CPU: "4"})},
		{'B', e2eutil.Pod("packets", "single", e2eutil.Container{Name: "c", CPU: "2"})},
		{'C', e2eutil.Pod("batch", "random", e2eutil.Container{Name: "c", CPU: "3"})},
		{0, e2eutil.Pod("logs", "", e2eutil.Container{Name: "c", CPU: "100m"})},
	}
}

type demo struct {
	*e2eutil.Cluster
	bin string // path of numalet
}

// scene is a step of the demo, with a title that is printed first.
type scene struct {
	title string
	play  func(context.Context, []actor) error
}

// act is a part of the demo: a list of scenes, and the pods that they use.
type act struct {
	actors []actor
	scenes []scene
}

// run runs the acts of the demo.
func (d demo) run(ctx context.Context) error {
	defer d.unplug()
	shown := 0
	for _, a := range []act{
		{cast(), []scene{
			{"What the node publishes: capacity = every CPU of the NUMA node, allocatable = without the reserved CPUs", d.describeNode},
			{"Five pods: a spread, a single and a random one, which the controller places, and two shared ones", d.start},
			{"Where their containers really run (Cpus_allowed_list of process 1)", d.show},
			{"What the node says of it", d.showTopology},
			{"Delete the pods with exclusive CPUs", d.deleteExclusive},
			{"Their CPUs are back in the shared set", d.showReturned},
		}},
		{tenants(), []scene{
			{"Two tenants, and room for one pod at a time: a pod of ann runs, another one of ann waits, and a later one of ben waits", d.fill},
			{"The scheduling order, and why a pod waits", d.explain},
			{"As pods end: ben, who used less, comes first", d.takeTurns},
		}},
		{withGPUs(), []scene{
			{"Eight GPUs. They are fake: a text file behind a fake of NVIDIA's library. The way of their inventory to the node is real", d.plugIn},
			{"Groups: ann and ben have GPUs of their own and one in common; eve has no permission to use hers", d.group},
			{"Two GPUs and four CPUs on one NUMA node, as the container itself sees them", d.align},
		}},
	} {
		if err := d.perform(ctx, a, &shown); err != nil {
			return err
		}
	}
	return nil
}

// perform runs the scenes of an act and then deletes its pods. The numbers of the scenes continue
// those of the previous act.
func (d demo) perform(ctx context.Context, a act, shown *int) error {
	defer d.clean(a.actors)
	for _, s := range a.scenes {
		*shown++
		fmt.Printf("\n%d. %s\n\n", *shown, s.title)
		if err := s.play(ctx, a.actors); err != nil {
			return fmt.Errorf("scene %d: %w", *shown, err)
		}
	}
	return nil
}

// showTopology prints the list of NodeTopology objects, and the numbers of available and allocatable
// CPUs of each NUMA node.
func (d demo) showTopology(ctx context.Context, _ []actor) error {
	out, err := kubectl(ctx, "get", "nodetopologies")
	if err != nil {
		return err
	}
	fmt.Printf("  $ kubectl get nodetopologies\n%s", indent(out))
	topology, err := d.Topology(ctx, d.Node())
	if err != nil {
		return err
	}
	fmt.Println()
	for _, numaNode := range topology.Status.NUMA {
		fmt.Printf("  numa%d: %d of %d allocatable CPUs are available\n", numaNode.ID, numaNode.Available, numaNode.Allocatable)
	}
	return nil
}

func (d demo) describeNode(ctx context.Context, _ []actor) error {
	out, err := kubectl(ctx, "describe", "node", d.Node())
	if err != nil {
		return err
	}
	fmt.Printf("  $ kubectl describe node %s\n", d.Node())
	inside := false
	for line := range strings.Lines(out) {
		inside = inside && strings.HasPrefix(line, " ") || strings.HasPrefix(line, "Capacity:") || strings.HasPrefix(line, "Allocatable:")
		if inside && (!strings.HasPrefix(line, " ") || strings.Contains(line, "cpu")) {
			fmt.Print("  ", line)
		}
	}
	return nil
}

func (d demo) start(ctx context.Context, actors []actor) error {
	if err := d.Forget(ctx); err != nil {
		return err
	}
	for _, a := range actors {
		if _, err := d.Create(ctx, a.pod); err != nil {
			return err
		}
		pod, err := d.Await(ctx, a.pod.Name, e2eutil.Running)
		if err != nil {
			return err
		}
		decision, err := decided(pod)
		if err != nil {
			return err
		}
		fmt.Printf("  %-9s %-16s %-18s %s\n", pod.Name, requestOf(a), pod.Spec.SchedulerName, decision)
	}
	return nil
}

// decided returns, in words, how many CPUs of each NUMA node the controller chose for a pod.
func decided(pod *corev1.Pod) (string, error) {
	placement, err := e2eutil.Placement(pod)
	var words []string
	for _, id := range slices.Sorted(maps.Keys(placement["c"])) {
		words = append(words, fmt.Sprintf("%d of numa%d", placement["c"][id], id))
	}
	return strings.Join(words, ", "), err
}

// requestOf returns a pod's CPU limit and CPU policy in words.
func requestOf(a actor) string {
	cpu := a.pod.Spec.Containers[0].Resources.Limits.Cpu()
	if a.letter == 0 {
		return fmt.Sprintf("cpu %v, shared", cpu)
	}
	return fmt.Sprintf("cpu %v, %s", cpu, a.pod.Annotations[v1alpha1.AnnotationCPUPolicy])
}

func (d demo) show(ctx context.Context, actors []actor) error {
	machine, err := d.Machine(ctx)
	if err != nil {
		return err
	}
	var marks []e2eutil.Mark
	for _, a := range actors {
		cpus, err := d.allowed(ctx, a)
		if err != nil {
			return err
		}
		if a.letter != 0 {
			marks = append(marks, e2eutil.Mark{Letter: a.letter, CPUs: cpus})
		}
		fmt.Printf("  %c  %-9s %-16s %s\n", max(a.letter, '.'), a.pod.Name, requestOf(a), cpus)
	}
	fmt.Printf("\n%s\n  one pair of brackets is one core with its two threads; a dot is a shared CPU\n", e2eutil.Picture(machine, marks))
	return nil
}

func (d demo) deleteExclusive(ctx context.Context, actors []actor) error {
	var names []string
	for _, a := range actors {
		if a.letter != 0 {
			names = append(names, a.pod.Name)
		}
	}
	fmt.Println("  $ kubectl delete pod", strings.Join(names, " "))
	return d.Delete(ctx, names...)
}

func (d demo) showReturned(ctx context.Context, actors []actor) error {
	machine, err := d.Machine(ctx)
	if err != nil {
		return err
	}
	for _, a := range actors {
		if a.letter != 0 {
			continue
		}
		cpus, err := d.awaitAll(ctx, a, machine)
		if err != nil {
			return err
		}
		fmt.Printf("  .  %-9s %-16s %s\n", a.pod.Name, requestOf(a), cpus)
	}
	fmt.Printf("\n%s", e2eutil.Picture(machine, nil))
	return nil
}

// awaitAll waits until a pod with shared CPUs may use all CPUs of the machine again, after the pods
// with exclusive CPUs were deleted.
func (d demo) awaitAll(ctx context.Context, a actor, machine *topology.Machine) (cpuset.Set, error) {
	for {
		cpus, err := d.allowed(ctx, a)
		if err != nil || cpus.Equal(machine.Online()) {
			return cpus, err
		}
		select {
		case <-ctx.Done():
			return cpus, fmt.Errorf("pod %s is still confined to %v: %w", a.pod.Name, cpus, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// allowed returns the allowed CPUs of the pod's container, as the kernel reports them inside the
// container.
func (d demo) allowed(ctx context.Context, a actor) (cpuset.Set, error) {
	out, err := kubectl(ctx, "exec", a.pod.Name, "--", "/probe", "show")
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(out)
}

func (d demo) clean(actors []actor) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, a := range actors {
		if err := d.Delete(ctx, a.pod.Name); err != nil {
			fmt.Println("clean up:", err)
		}
	}
}
