package kubelet

import (
	"context"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watchFile returns a channel. Until ctx ends, the channel receives a value when the file with the
// given path may have been created, removed or replaced. Without this channel, the Publisher would
// notice such changes only at the next tick. If the directory of the file cannot be watched, the
// channel receives nothing, and watchFile also returns an error. For example, the directory may not
// exist yet, or no inotify watches may be left. The caller only logs this error, because the
// Publisher then still notices changes at the ticks.
func watchFile(ctx context.Context, path string) (<-chan struct{}, error) {
	hints := make(chan struct{}, 1)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return hints, err
	}
	if err := watcher.Add(filepath.Dir(path)); err != nil {
		watcher.Close()
		return hints, err
	}
	context.AfterFunc(ctx, func() { watcher.Close() })
	go forward(watcher, path, hints)
	return hints, nil
}

// forward sends a value to `hints` for each creation or removal of the file with the given path,
// until the watcher is closed. An error of the watcher means that events were lost, so forward also
// sends a value after an error.
func forward(watcher *fsnotify.Watcher, path string, hints chan<- struct{}) {
	for {
		select {
		case event, open := <-watcher.Events:
			if !open {
				return
			}
			if event.Name != path || !event.Has(fsnotify.Create) && !event.Has(fsnotify.Remove) {
				continue
			}
		case _, open := <-watcher.Errors:
			if !open {
				return
			}
		}
		select {
		case hints <- struct{}{}:
		default: // the channel has a value that was not received yet
		}
	}
}
