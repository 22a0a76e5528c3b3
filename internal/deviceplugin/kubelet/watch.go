package kubelet

import (
	"context"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watchFile returns a channel that receives when the file at path may have been
// created, removed or replaced, until ctx ends. It only saves the wait for the
// next tick: if the directory cannot be watched (it does not exist yet, or there
// are no inotify watches left), the channel stays silent and the error is for the
// log.
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

// forward runs until the watcher is closed. An error means that events were lost,
// so it is also sent as a hint.
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
		default: // a hint is already pending
		}
	}
}
