// Package isolation keeps interrupts and unbound workqueues of the kernel off isolated CPUs, and
// restores the old settings when the CPUs are released. Package steering computes what to write.
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

// every is the time between checks that the interrupts are where they should be: drivers add
// interrupts, and other programs move them.
const every = 10 * time.Second

// Saved is the content of the state file.
type Saved struct {
	BootID string         `json:"bootID"`
	Files  steering.State `json:"files"`
}

// Store makes the state durable before Save returns.
type Store interface {
	Load() (Saved, error)
	Save(Saved) error
}

// Options of New.
type Options struct {
	Enabled bool
	Proc    string // the host's /proc, of which irq is written
	Sys     string // the root with sys
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
		known    bool // the node has reported isolated
		done     bool // and was written
	}
}

// New returns an Isolation with the state of an earlier process. After a reboot the kernel has its
// default settings again, so the state of the last boot is dropped.
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

// Check returns why this node cannot isolate CPUs, or nil. It names the first cause.
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

// Isolate keeps interrupts and unbound workqueues off these CPUs and no others. When it returns
// nil, only interrupts that the kernel lets nobody move are left on these CPUs. They belong to
// drivers with one queue for each CPU, and are raised only for requests of that CPU.
func (i *Isolation) Isolate(ctx context.Context, cpus cpuset.Set) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mu.done && cpus.Equal(i.mu.isolated) {
		return nil // Run finds what others changed meanwhile
	}
	i.mu.isolated, i.mu.known = cpus, true
	return i.apply(ctx)
}

// Run checks regularly that all settings are as planned, and corrects them, until ctx ends.
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
		return nil // the containers of the node are not known yet: nothing is put back
	}
	return i.apply(ctx)
}

// apply saves the old contents of the files, and then writes the files that differ from the plan.
// If there are no isolated CPUs and no saved state, it reads nothing. Callers hold the lock.
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
		case errors.Is(err, fs.ErrNotExist): // a driver has freed it
		case err != nil:
			errs = append(errs, err)
		}
	}
	if i.mu.isolated.Empty() && len(errs) == 0 {
		_, err := i.plan() // drops files that have their old contents again
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// plan saves the state, and returns what to write. Callers hold the lock.
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
