package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// testHost has cgroups with containers. It is a real or a fake kernel.
type testHost interface {
	groupFiles
	// start creates the cgroup of a container, with a process in it.
	start(group, cpus string)
	// exit ends the process of a container.
	exit(group string)
	// remove removes a cgroup without processes.
	remove(group string)
}

// container returns the path of a container's cgroup. IDs of containers have 64 digits.
func container(pod string, digit int) string {
	return path.Join(pod, strings.Repeat(fmt.Sprint(digit), 64))
}

// states returns the partition and the exclusive CPUs of each cgroup, such as "isolated 2-3".
func states(t *testing.T, h testHost, groups ...string) string {
	t.Helper()
	var all []string
	for _, group := range groups {
		partition, err := h.read(group, partitionFile)
		cpus, cpusErr := h.read(group, exclusiveFile)
		if err := errors.Join(err, cpusErr); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(strings.TrimSpace(partition)+" "+strings.TrimSpace(cpus)))
	}
	return strings.Join(all, ", ")
}

// testPartitions makes partitions for the containers of two pods, one after another. The cgroups of
// the pods are below the cgroup given as `root`. The machine has the CPUs 0 to 3.
func testPartitions(t *testing.T, h testHost, root string) {
	p := partitions{h}
	pod1, pod2 := path.Join(root, "pod1"), path.Join(root, "pod2")
	a, b, c := container(pod1, 1), container(pod1, 2), container(pod2, 3)
	h.start(a, "2-3")
	check := func(what, want string, groups ...string) {
		t.Helper()
		if got := states(t, h, groups...); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	set := func(group, cpus string, want workload.Partition) {
		t.Helper()
		if err := p.set(group, cpuset.MustParse(cpus), want); err != nil {
			t.Fatal(err)
		}
	}
	tidy := func() {
		t.Helper()
		if err := p.tidy(root); err != nil {
			t.Fatal(err)
		}
	}
	set(a, "2-3", workload.IsolatedPartition)
	check("one container", "member 2-3, member 2-3, isolated 2-3", root, pod1, a)
	set(a, "2", workload.IsolatedPartition)
	tidy()
	check("after it shrank", "member 2, member 2, isolated 2", root, pod1, a)
	h.start(c, "3")
	set(c, "3", workload.RootPartition)
	check("two pods", "member 2-3, isolated 2, member 3, root 3", root, a, pod2, c)
	h.exit(c)
	h.remove(c)
	set(a, "2-3", workload.IsolatedPartition)
	check("after one container has grown to the CPU of another", "member 2-3, member 2-3, isolated 2-3, member", root, pod1, a, pod2)
	h.exit(a)
	tidy()
	check("after all have ended", "member, member, member", root, pod1, a)
	h.remove(a)
	h.start(b, "2-3")
	set(b, "2-3", workload.IsolatedPartition)
	check("another container of the pod", "member 2-3, member 2-3, isolated 2-3", root, pod1, b)
	h.exit(b)
	h.remove(b)
	h.remove(pod1)
	tidy()
	check("after the pod was removed", "member", root)
}

func TestPartitions(t *testing.T) {
	testPartitions(t, newKernel(t), "/kubepods")
}

// TestPartitionDying removes a container. The fake kernel of this test returns the CPUs of a
// removed partition to the root cgroup only after a delay. Until then, the CPUs must stay in the
// files of the cgroups above the container.
func TestPartitionDying(t *testing.T) {
	k := newKernel(t)
	k.slow = true
	p, a := partitions{k}, container("/kubepods/pod1", 1)
	k.start(a, "2-3")
	if err := p.set(a, cpuset.MustParse("2-3"), workload.IsolatedPartition); err != nil {
		t.Fatal(err)
	}
	k.exit(a)
	k.remove(a)
	for _, want := range []string{"member 2-3, member 2-3", "member, member"} {
		if err := p.tidy("/kubepods"); err != nil {
			t.Fatal(err)
		}
		if got := states(t, k, "/kubepods", "/kubepods/pod1"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		k.dying = cpuset.Set{}
	}
}

// TestPartitionIsKept checks that set writes nothing if the cgroup is the partition already, as it
// is after a restart of the agent.
func TestPartitionIsKept(t *testing.T) {
	k := newKernel(t)
	a := container("/kubepods/pod1", 1)
	k.start(a, "2")
	for _, wantWrites := range []bool{true, false} {
		k.writes = 0
		if err := (partitions{k}).set(a, cpuset.MustParse("2"), workload.IsolatedPartition); err != nil || k.writes > 0 != wantWrites {
			t.Errorf("set = %v with %d writes, want writes %t", err, k.writes, wantWrites)
		}
	}
}

func TestPartitionRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*kernel)
		want   string
		gone   bool
	}{
		"no capability":     {func(k *kernel) { k.admin = false }, `type isolated for CPUs 2-3: cpuset.cpus.partition is "isolated invalid (Enable partition not permitted)"`, false},
		"CPUs of a sibling": {func(k *kernel) { k.start(container("/kubepods/pod1", 2), "3") }, "cpuset.cpus.exclusive 2-3 of /kubepods/pod1/1", false},
		"no cgroup":         {func(k *kernel) { k.remove(container("/kubepods/pod1", 1)) }, "file does not exist", true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKernel(t)
			a := container("/kubepods/pod1", 1)
			k.start(a, "2-3")
			tc.change(k)
			err := partitions{k}.set(a, cpuset.MustParse("2-3"), workload.IsolatedPartition)
			if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, workload.ErrPartition) == tc.gone {
				t.Errorf("set = %v, want %q, ErrPartition %t", err, tc.want, !tc.gone)
			}
		})
	}
}

// TestConfinePartition checks that Confine makes partitions, and that CPUs in partitions count as
// CPUs that containers can use.
func TestConfinePartition(t *testing.T) {
	a := container("/kubepods/pod1", 1)
	files := map[string]string{
		"kubepods/" + exclusiveFile: "\n", "kubepods/pod1/" + exclusiveFile: "\n", a[1:] + "/" + exclusiveFile: "\n",
		a[1:] + "/" + partitionFile: "member\n", a[1:] + "/cpuset.cpus.effective": "2-3\n", a[1:] + "/cpuset.mems.effective": "0\n",
		"kubepods/cpuset.cpus.effective": "0-1\n", "kubepods/cpuset.mems.effective": "0\n",
	}
	root := fake(t, files)
	c := open(t, Options{Root: root})
	d := exactly(cpuset.MustParse("2-3"))
	d.Partition = workload.IsolatedPartition
	if err := c.Confine(t.Context(), a, d); err != nil || !c.Partitions() {
		t.Fatalf("Confine = %v, Partitions() = %t", err, c.Partitions())
	}
	for file, want := range map[string]string{a + "/" + partitionFile: "isolated", a + "/" + exclusiveFile: "2-3", "/kubepods/" + exclusiveFile: "2-3"} {
		if got := read(t, root, file); got != want {
			t.Errorf("%s = %q, want %q", file, got, want)
		}
	}
	if cpus, _, err := c.KubeletCPUs(); err != nil || cpus.String() != "0-3" {
		t.Errorf("KubeletCPUs = %s, %v; want 0-3", cpus, err)
	}
}

// kernel is a fake of the kernel's remote partitions, as in Linux 6.12. It has the CPUs 0-3.
// The method `start` creates the cgroup of a container, and the cgroups above it that do not exist.
type kernel struct {
	*testing.T
	groups map[string]*cpusetGroup // by path
	admin  bool                    // the process has CAP_SYS_ADMIN
	slow   bool                    // the CPUs of a removed partition return to the root cgroup only later; until then, the field `dying` has them
	dying  cpuset.Set
	writes int
}

type cpusetGroup struct {
	cpus, exclusive cpuset.Set
	partition       string
	populated       bool
}

func newKernel(t *testing.T) *kernel {
	return &kernel{T: t, groups: map[string]*cpusetGroup{"/kubepods": {partition: "member"}}, admin: true}
}

func (k *kernel) start(group, cpus string) {
	for _, above := range ancestors(group) {
		if k.groups[above] == nil {
			k.groups[above] = &cpusetGroup{partition: "member"}
		}
	}
	k.groups[group] = &cpusetGroup{cpus: cpuset.MustParse(cpus), partition: "member", populated: true}
}

func (k *kernel) exit(group string) { k.groups[group].populated = false }

func (k *kernel) remove(group string) {
	if g := k.groups[group]; k.slow && g.valid() {
		k.dying = k.dying.Union(g.exclusive)
	}
	delete(k.groups, group)
}

func (g *cpusetGroup) valid() bool { return g.partition == "isolated" || g.partition == "root" }

// taken returns the CPUs of the partitions of all cgroups except the cgroup `but`.
func (k *kernel) taken(but string) cpuset.Set {
	cpus := k.dying
	for group, g := range k.groups {
		if group != but && g.valid() {
			cpus = cpus.Union(g.exclusive)
		}
	}
	return cpus
}

func (k *kernel) children(group string) (names []string, err error) {
	for _, child := range slices.Sorted(maps.Keys(k.groups)) {
		if path.Dir(child) == group {
			names = append(names, path.Base(child))
		}
	}
	return names, nil
}

func (k *kernel) read(group, file string) (string, error) {
	g := k.groups[group]
	switch {
	case group == "/" && file == "cpuset.cpus.effective":
		return cpuset.Range(0, 3).Minus(k.taken("")).String() + "\n", nil
	case g == nil:
		return "", fs.ErrNotExist
	case file == exclusiveFile:
		return g.exclusive.String() + "\n", nil
	case file == partitionFile:
		return g.partition + "\n", nil
	}
	return fmt.Sprintf("populated %d\nfrozen 0\n", map[bool]int{true: 1}[g.populated]), nil
}

func (k *kernel) write(group, file, text string) error {
	k.writes++
	g := k.groups[group]
	if file == partitionFile {
		g.partition = text
		if g.valid() && k.refuses(group) != "" {
			g.partition += " invalid (" + k.refuses(group) + ")"
		}
		return nil
	}
	cpus := cpuset.MustParse(strings.TrimSpace(text))
	for other, o := range k.groups {
		sibling := path.Dir(other) == path.Dir(group) && other != group
		if sibling && (o.exclusive.Overlaps(cpus) || o.exclusive.Empty() && !o.cpus.Empty() && o.cpus.SubsetOf(cpus)) {
			return unix.EINVAL
		}
		if strings.HasPrefix(other, group+"/") && o.valid() && !o.exclusive.SubsetOf(cpus) {
			k.Errorf("%s loses CPUs of the partition %s", group, other)
		}
	}
	if k.dying.Overlaps(g.exclusive.Minus(cpus)) {
		k.Errorf("the kernel never returns CPUs %s", k.dying)
	}
	g.exclusive = cpus
	if g.valid() && k.refuses(group) != "" {
		g.partition += " invalid (" + k.refuses(group) + ")"
	}
	return nil
}

// refuses returns the reason why a cgroup cannot become a partition, or "" if it can.
func (k *kernel) refuses(group string) string {
	cpus := k.groups[group].exclusive
	for _, above := range ancestors(group) {
		cpus = cpus.Intersect(k.groups[above].exclusive)
	}
	switch {
	case !k.admin:
		return "Enable partition not permitted"
	case cpus.Empty() || !cpus.Equal(k.groups[group].exclusive) || cpus.Overlaps(k.taken(group)):
		return "Invalid cpu list in cpuset.cpus.exclusive"
	}
	return ""
}
