package direct

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/pkg/workload"
)

// Cgroups finds the cgroups of pods.
type Cgroups interface {
	Pods() ([]cgroup.Pod, error)
	// Dirs are the directories in which those come and go.
	Dirs() ([]string, error)
}

// Pods is what the API server said about this node's pods, by the UID that the
// kubelet uses.
type Pods interface {
	Pod(uid string) (*corev1.Pod, bool)
}

// Node brings everything in line with what there is.
type Node interface {
	Synchronize(ctx context.Context, sandboxes []workload.Sandbox, containers []workload.Container)
}

// Env is what a Watcher works with.
type Env struct {
	Cgroups Cgroups
	Pods    Pods
	Node    Node
	// Again is how long nothing has to happen before everything is written
	// again, over what others may have written; 0 is 10 s.
	Again time.Duration
}

// Watcher synchronizes the node after each change. It is level triggered: every
// look lists everything, so that a missed change costs a delay and no more.
type Watcher struct {
	env   Env
	poked chan struct{}
	ready atomic.Bool            // looked once
	known map[string]*corev1.Pod // as last seen, by UID, for as long as there is a cgroup
}

// New returns a watcher that does nothing until Run.
func New(env Env) *Watcher {
	if env.Again == 0 {
		env.Again = 10 * time.Second
	}
	return &Watcher{env: env, poked: make(chan struct{}, 1), known: map[string]*corev1.Pod{}}
}

// Poke says that some pod changed: its status may now name a container. It
// returns at once.
func (w *Watcher) Poke() {
	select {
	case w.poked <- struct{}{}:
	default: // a look is due anyway
	}
}

// Ready returns nil once everything that runs was placed.
func (w *Watcher) Ready() error {
	if !w.ready.Load() {
		return errors.New("the kubelet's cgroups were not listed yet")
	}
	return nil
}

// Run looks once, and after every change, until ctx is done.
func (w *Watcher) Run(ctx context.Context) error {
	changes, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch cgroups: %w", err)
	}
	defer changes.Close()
	again := time.NewTicker(w.env.Again)
	defer again.Stop()
	for {
		if err := w.follow(changes); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "new containers are noticed late")
		}
		if err := w.look(ctx); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "nothing was placed")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.poked:
		case <-again.C:
		case err := <-changes.Errors:
			logr.FromContextOrDiscard(ctx).Error(err, "watch cgroups")
		case <-changes.Events:
			drain(changes.Events)
		}
	}
}

// follow watches the directories that there are now. It comes before the look,
// so that what appears in between is seen by one of them.
func (w *Watcher) follow(changes *fsnotify.Watcher) error {
	dirs, err := w.env.Cgroups.Dirs()
	if err != nil {
		return fmt.Errorf("find the kubelet's cgroups: %w", err)
	}
	for _, dir := range dirs {
		_ = changes.Add(dir) // fails when the directory has gone meanwhile
	}
	return nil
}

// look lists what there is and hands it to the node.
func (w *Watcher) look(ctx context.Context) error {
	found, err := w.env.Cgroups.Pods()
	if err != nil {
		return fmt.Errorf("list the cgroups of pods: %w", err)
	}
	var sandboxes []workload.Sandbox
	var containers []workload.Container
	known := map[string]*corev1.Pod{}
	for _, group := range found {
		pod, ok := w.env.Pods.Pod(group.UID)
		if !ok {
			pod = w.known[group.UID] // deleted, but still there
		}
		if pod != nil {
			known[group.UID] = pod
		}
		s, c := translate(group, pod)
		sandboxes, containers = append(sandboxes, s...), append(containers, c...)
	}
	w.known = known
	w.env.Node.Synchronize(ctx, sandboxes, containers)
	w.ready.Store(true)
	return nil
}

// drain drops what one look answers together.
func drain(events <-chan fsnotify.Event) {
	for {
		select {
		case <-events:
		default:
			return
		}
	}
}
