package direct

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	Pods() ([]cgroup.PodCgroup, error)
	// Dirs returns the directories in which cgroups of pods and containers are created and removed.
	Dirs() ([]string, error)
}

// Pods is the pod informer's cache of this node's pods. It looks up pods by the UID that the
// kubelet uses in the names of cgroups.
type Pods interface {
	// Pod returns the pod with this UID, and false if the cache does not have it.
	Pod(workload.Pod) (*corev1.Pod, bool)
	// Mirrors returns the pods that claim to be the mirror pod of the static pod with this UID.
	Mirrors(uid string) []*corev1.Pod
}

// Node decides which CPUs containers get. Synchronize receives the list of all sandboxes and
// containers, and writes the CPUs of each to its cgroup.
type Node interface {
	Synchronize(ctx context.Context, sandboxes []workload.Sandbox, containers []workload.Container)
}

// Options are the options of New.
type Options struct {
	Cgroups Cgroups
	Pods    Pods
	Node    Node
	// Resync is the time after which all cpusets are written again, even if nothing has changed.
	// This corrects what other processes have written. 0 means 10 s.
	Resync time.Duration
}

// Watcher passes all cgroups of pods to Node.Synchronize after each change of a cgroup or a pod. It
// lists all cgroups each time, so if it misses a change, the next call of Synchronize includes that
// change.
type Watcher struct {
	o        Options
	notified chan struct{}
	ready    atomic.Bool            // the first call of Node.Synchronize has ended
	lastSeen map[string]*corev1.Pod // by UID; has every pod until the pod's cgroup is removed
}

// New returns a watcher. The watcher does nothing until Run is called.
func New(o Options) *Watcher {
	if o.Resync == 0 {
		o.Resync = 10 * time.Second
	}
	return &Watcher{o: o, notified: make(chan struct{}, 1), lastSeen: map[string]*corev1.Pod{}}
}

// Notify requests a call of Node.Synchronize. Notify is called when a pod has changed, because the
// pod's status may now have the ID of a container. It does not block.
func (w *Watcher) Notify() {
	select {
	case w.notified <- struct{}{}:
	default: // a synchronization is already requested
	}
}

// Ready returns nil after the first call of Node.Synchronize.
func (w *Watcher) Ready() error {
	if !w.ready.Load() {
		return errors.New("the kubelet's cgroups have not been listed yet")
	}
	return nil
}

// Run calls Node.Synchronize at the start, after every change of a cgroup or a pod, and at the
// interval Options.Resync. It does so until ctx is done.
func (w *Watcher) Run(ctx context.Context) error {
	changes, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch cgroups: %w", err)
	}
	defer changes.Close()
	resync := time.NewTicker(w.o.Resync)
	defer resync.Stop()
	for {
		if err := w.watchDirs(changes); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "cannot watch all cgroups; new containers are found at the next resync")
		}
		if err := w.synchronize(ctx); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "cannot synchronize; no container was pinned")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.notified:
		case <-resync.C:
		case err := <-changes.Errors:
			logr.FromContextOrDiscard(ctx).Error(err, "the watch on cgroups failed; changes are found at the next resync")
		case <-changes.Events:
			drain(changes.Events)
		}
	}
}

// watchDirs watches the cgroup directories that exist now. It lists the directories repeatedly,
// until a list has only directories that were already watched. Otherwise it would miss the cgroup
// of a pod that is created after the list was made, but before the parent directory is watched. For
// the same reason, watchDirs must be called before synchronize. In the opposite order, synchronize
// would not list a cgroup that is created between the two calls, and this cgroup would cause no
// event.
func (w *Watcher) watchDirs(changes *fsnotify.Watcher) error {
	for {
		dirs, err := w.o.Cgroups.Dirs()
		if err != nil {
			return fmt.Errorf("find the kubelet's cgroups: %w", err)
		}
		added, err := addAll(changes, dirs)
		if !added {
			return err
		}
	}
}

// addAll watches the given directories. It reports whether it added a directory that was not
// watched before. It skips directories that were removed since they were listed. After another
// error, such as too many watches, it continues with the other directories, and returns the last
// such error.
func addAll(changes *fsnotify.Watcher, dirs []string) (added bool, failed error) {
	watched := changes.WatchList()
	for _, dir := range dirs {
		err := changes.Add(dir)
		switch {
		case err == nil:
			added = added || !slices.Contains(watched, dir)
		case !errors.Is(err, fs.ErrNotExist):
			failed = fmt.Errorf("watch %s: %w", dir, err)
		}
	}
	return added, failed
}

// synchronize passes all cgroups of pods to Node.Synchronize.
func (w *Watcher) synchronize(ctx context.Context) error {
	found, err := w.o.Cgroups.Pods()
	if err != nil {
		return fmt.Errorf("list the cgroups of pods: %w", err)
	}
	var sandboxes []workload.Sandbox
	var containers []workload.Container
	seen := map[string]*corev1.Pod{}
	for _, group := range found {
		pod := w.pod(group)
		if pod == nil {
			pod = w.lastSeen[group.UID] // the pod was deleted, but its cgroup still exists
		}
		if pod != nil {
			seen[group.UID] = pod
		}
		s, c := translate(group, pod)
		sandboxes, containers = append(sandboxes, s...), append(containers, c...)
	}
	w.lastSeen = seen
	w.o.Node.Synchronize(ctx, sandboxes, containers)
	w.ready.Store(true)
	return nil
}

// pod returns the API object of the pod to which a cgroup belongs, or nil if it does not find the
// pod. If the cgroup belongs to a static pod, several pods may claim to be its mirror pod. In this
// case, the result is the one whose status lists a container of the cgroup, because only the kubelet
// writes the status of a pod.
func (w *Watcher) pod(group cgroup.PodCgroup) *corev1.Pod {
	if pod, ok := w.o.Pods.Pod(workload.Pod{UID: group.UID}); ok {
		return pod
	}
	for _, pod := range w.o.Pods.Mirrors(group.UID) {
		names := namesByID(pod)
		for _, container := range group.Containers {
			if _, is := names[container.ID]; is {
				return pod
			}
		}
	}
	return nil
}

// drain removes the pending events, because one call of Node.Synchronize covers all of them.
func drain(events <-chan fsnotify.Event) {
	for {
		select {
		case <-events:
		default:
			return
		}
	}
}
