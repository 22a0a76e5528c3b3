// Package foreign measures the foreign time of exclusive CPUs: the CPU time that interrupts, kernel
// threads and other processes used on these CPUs. Package foreign reads files in /proc, and reports
// containers with too much foreign time. Package cputime computes the foreign time from the
// contents of these files.
package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cputime"
	"github.com/numalet/numalet/pkg/workload"
)

// every is the time between two measurements of foreign time. /proc/stat counts CPU time in steps
// of 10 ms. One step is only 0.1 % of this interval, so the steps hardly affect the result.
const every = 10 * time.Second

// Container is a container with exclusive CPUs.
type Container struct {
	Pod    workload.Pod
	Name   string
	ID     string // the ID that the container runtime gave to the container
	Cgroup string
	CPUs   cpuset.Set
}

// Options are the options of New.
type Options struct {
	Proc fs.FS // the host's /proc
	// Containers returns the containers with exclusive CPUs that the container runtime lists,
	// including containers that have exited.
	Containers func() []Container
	// Held returns the names of all containers that hold exclusive CPUs, including containers that
	// are not running now. For example, a crashed container keeps its CPUs until the kubelet starts
	// it again.
	Held func() []Name
	// Usage returns the CPU time that a cgroup has used on the given CPUs, or on all CPUs if the
	// kernel does not count CPU time for each CPU. The error is fs.ErrNotExist if the cgroup does
	// not exist.
	Usage func(cgroup string, on cpuset.Set) (time.Duration, error)
	// A container is reported when its share of foreign time reaches Threshold. The share is the
	// foreign time within Window, divided by the CPU time that the container could have used in the
	// same time: the measured part of Window, times the number of the container's exclusive CPUs. A
	// Threshold of 0 means that no container is reported.
	Threshold float64
	Window    time.Duration
	// Warn is called to report a container with too much foreign time. Changed is called when the
	// list of such containers (see Monitor.Noisy) has changed.
	Warn    func(pod workload.Pod, message string)
	Changed func()
	Now     func() time.Time
}

// Name identifies a container across its restarts.
type Name struct{ UID, Container string }

// Total is the foreign time of a container since the agent first measured it.
type Total struct {
	Pod       workload.Pod
	Container string
	cputime.Foreign
	Recent cputime.Foreign // the foreign time within Options.Window
	Noisy  bool            // the share of foreign time has reached Options.Threshold, and since then has not fallen below half of Threshold
}

// Monitor measures the foreign time of the containers with exclusive CPUs on this node.
type Monitor struct {
	o    Options
	proc procfs // used only by Sample, of which only one call runs at a time
	mu   struct {
		sync.Mutex
		meters map[Name]*meter
	}
}

type meter struct {
	total Total
	cputime.Meter
	cputime.Alarm
}

// New returns a monitor that has measured nothing yet.
func New(o Options) *Monitor {
	m := &Monitor{o: o, proc: procfs{root: o.Proc}}
	m.mu.meters = map[Name]*meter{}
	return m
}

// Run measures the foreign time of all containers regularly, until ctx ends. A failed measurement
// does not affect the containers. Run logs the failure, but not if the previous measurement failed
// for the same reason.
func (m *Monitor) Run(ctx context.Context) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	log := logr.FromContextOrDiscard(ctx)
	for failed := ""; ; {
		err := m.Sample()
		if err != nil && err.Error() != failed {
			log.Error(err, "cannot measure the foreign time of exclusive CPUs; retrying", "after", every)
		}
		failed = fmt.Sprint(err)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Sample measures the foreign time of all containers once. Only one goroutine may call it at a
// time.
func (m *Monitor) Sample() error {
	before := m.Noisy()
	defer func() {
		if !slices.Equal(before, m.Noisy()) {
			m.o.Changed()
		}
	}()
	m.forget()
	containers := m.o.Containers()
	if len(containers) == 0 {
		return nil
	}
	online, err := m.proc.read()
	if err != nil {
		return err
	}
	var errs []error
	now := m.o.Now()
	for _, container := range containers {
		used, err := m.o.Usage(container.Cgroup, container.CPUs)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the container has exited, or has not started
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m.add(container, cputime.Take(now, container.ID, container.CPUs, used, online, &m.proc.threads))
	}
	return errors.Join(errs...)
}

// add adds a sample to a container's meter, which sums up the foreign time. It reports the
// container if its share of foreign time has just reached Options.Threshold.
func (m *Monitor) add(c Container, s cputime.Sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := Name{c.Pod.UID, c.Name}
	one := m.mu.meters[name]
	if one == nil {
		one = &meter{total: Total{Pod: c.Pod, Container: c.Name}}
		m.mu.meters[name] = one
	}
	t := &one.total
	t.Foreign = t.Plus(one.Meter.Add(s))
	was := t.Noisy
	t.Recent, t.Noisy = one.Update(s.At, t.Foreign, m.o.Threshold, m.o.Window)
	if t.Noisy = t.Noisy && m.o.Threshold > 0; t.Noisy && !was {
		m.o.Warn(c.Pod, m.describe(*t, c.CPUs))
	}
}

// describe returns a message about a container with too much foreign time. The message has the
// foreign time within Options.Window, its main source, and what to do about that source.
func (m *Monitor) describe(t Total, cpus cpuset.Set) string {
	most := slices.MaxFunc(Sources(), func(a, b Source) int { return cmp.Compare(a.Used(t.Recent), b.Used(t.Recent)) })
	return fmt.Sprintf("others used %.1f%% of the time of the exclusive CPUs %s of container %q in the last %s, most of it %s: %s",
		100*t.Recent.Share(), cpus, t.Container, m.o.Window, most.name, most.remedy)
}

// forget removes the measured foreign time of containers that no longer hold exclusive CPUs.
func (m *Monitor) forget() {
	held := map[Name]bool{}
	for _, name := range m.o.Held() {
		held[name] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.mu.meters, func(name Name, _ *meter) bool { return !held[name] })
}

// Totals returns the foreign time of all containers with exclusive CPUs, ordered by pod and
// container.
func (m *Monitor) Totals() []Total {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Total
	for _, one := range m.mu.meters {
		all = append(all, one.total)
	}
	slices.SortFunc(all, func(a, b Total) int { return strings.Compare(a.key(), b.key()) })
	return all
}

func (t Total) key() string { return t.Pod.String() + "/" + t.Pod.UID + "/" + t.Container }

// Noisy returns the names of the containers whose share of foreign time has reached
// Options.Threshold, and since then has not fallen below half of this threshold.
func (m *Monitor) Noisy() (names []string) {
	for _, t := range m.Totals() {
		if t.Noisy {
			names = append(names, t.Pod.String()+"/"+t.Container)
		}
	}
	return names
}
