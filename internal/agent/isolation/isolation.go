// Package isolation keeps interrupts and unbound workqueues of the kernel off isolated CPUs. When
// the CPUs are released, it restores the old settings. Package steering computes what to write to
// the kernel's files.
package isolation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/steering"
)

// every is the time between two checks that no movable interrupt is on an isolated CPU. One check
// is not enough, because drivers add interrupts, and other programs move interrupts.
const every = 10 * time.Second

// Saved is the content of the state file. Files has the contents that the kernel's files had before
// the agent changed them.
type Saved struct {
	BootID string         `json:"bootID"`
	Files  steering.State `json:"files"`
}

// Store keeps a value of the type Saved on disk. Save returns when the value is durable.
type Store interface {
	Load() (Saved, error)
	Save(Saved) error
}

// Options are the options of New.
type Options struct {
	Enabled bool
	Proc    string // the host's /proc; the agent writes files in its subdirectory irq
	Sys     string // the directory that has sysfs mounted at its subdirectory sys
	Store   Store
	BootID  string
	Online  func() (cpuset.Set, error)
}

// Isolation keeps interrupts and workqueues of this machine off isolated CPUs. It is safe for
// concurrent use.
type Isolation struct {
	o     Options
	files files
	mu    struct {
		sync.Mutex
		state    steering.State
		isolated cpuset.Set
		known    bool // Isolate has been called, so the field `isolated` is valid
		done     bool // the last write of all settings succeeded
	}
}

// New returns an Isolation. It continues with the state that an earlier process saved. If the
// machine has rebooted since, New ignores that state, because the kernel has its default settings
// again.
func New(o Options) (*Isolation, error) {
	i := &Isolation{o: o, files: files{proc: o.Proc, sys: o.Sys}}
	saved, err := o.Store.Load()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read how interrupts were before they were moved: %w", err)
	}
	i.mu.state = steering.State{}
	if saved.BootID == o.BootID && saved.Files != nil {
		i.mu.state = saved.Files
	}
	return i, nil
}

// Check returns nil if this node can keep interrupts off CPUs, and otherwise the first reason why
// it cannot.
func (i *Isolation) Check() error {
	if !i.o.Enabled {
		return errors.New("the agent of the node runs without --isolation")
	}
	if err := i.files.writable(); err != nil {
		return err
	}
	pid, err := i.files.irqbalance()
	if err != nil {
		return err
	}
	if pid != "" {
		return fmt.Errorf("irqbalance runs on the node (process %s) and moves interrupts: stop it", pid)
	}
	return nil
}

// Isolate keeps interrupts and unbound workqueues off the given CPUs. It lets them use all other
// CPUs, even CPUs that an earlier call isolated. When Isolate returns nil, the only interrupts left
// on the given CPUs are those that the kernel does not let anybody move. Such an interrupt usually
// belongs to a driver with one queue for each CPU, and is raised only for requests from the CPU of
// this queue.
func (i *Isolation) Isolate(ctx context.Context, cpus cpuset.Set) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mu.done && cpus.Equal(i.mu.isolated) {
		return nil // an earlier call has isolated the same CPUs; Run corrects what other programs have changed after it
	}
	i.mu.isolated, i.mu.known = cpus, true
	return i.apply(ctx)
}

// Run checks regularly, until ctx ends, whether the kernel's settings still keep interrupts off
// the isolated CPUs, and corrects the settings if not.
func (i *Isolation) Run(ctx context.Context) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	log := logr.FromContextOrDiscard(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := i.again(ctx); err != nil {
			log.Error(err, "interrupts may reach isolated CPUs; retrying", "after", every)
		}
	}
}

func (i *Isolation) again(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.mu.known {
		return nil // the agent does not know the containers of the node yet, so no setting may be restored
	}
	return i.apply(ctx)
}

// apply makes the kernel keep interrupts off the isolated CPUs. It first saves the old contents of
// the kernel's files, and then writes the files whose content must change. If there are no isolated
// CPUs and no saved state, it does nothing. The caller holds i.mu.
func (i *Isolation) apply(ctx context.Context) (err error) {
	defer func() { i.mu.done = err == nil }()
	if i.mu.isolated.Empty() && len(i.mu.state) == 0 {
		return nil
	}
	writes, err := i.plan()
	if err != nil || len(writes) == 0 {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(writes)) {
		err := i.files.write(name, writes[name])
		switch {
		case unmovable(err):
			logr.FromContextOrDiscard(ctx).V(2).Info("the kernel lets nobody move this interrupt", "file", name)
		case errors.Is(err, fs.ErrNotExist): // a driver has freed the interrupt
		case err != nil:
			errs = append(errs, err)
		}
	}
	if i.mu.isolated.Empty() && len(errs) == 0 {
		_, err := i.plan() // this second call removes from the saved state the files that have their old contents again
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// plan saves the new content of the state file, and then returns what to write to the kernel's
// files. The caller holds i.mu.
func (i *Isolation) plan() (map[string]cpuset.Set, error) {
	now, err := i.files.read()
	if err != nil {
		return nil, err
	}
	online, err := i.o.Online()
	if err != nil {
		return nil, fmt.Errorf("read the online CPUs: %w", err)
	}
	next, writes := i.mu.state.Plan(now, defaultIRQ, i.mu.isolated, online)
	if !next.Equal(i.mu.state) {
		if err := i.o.Store.Save(Saved{BootID: i.o.BootID, Files: next}); err != nil {
			return nil, fmt.Errorf("save how interrupts were: %w", err)
		}
		i.mu.state = next
	}
	return writes, nil
}
