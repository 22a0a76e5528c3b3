package kubelet

import (
	"context"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// notify returns a channel that receives when the file at path may have
// appeared, gone or been replaced, until ctx ends. It is a hint that saves
// waiting for the next tick, so a directory that can't be watched (not there
// yet, no inotify watches left) makes it silent, with the error to log.
func notify(ctx context.Context, path string) (<-chan struct{}, error) {
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

// forward ends when the watcher is closed. An error means that events were
// lost, so it counts as a hint.
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
		default: // one hint is enough
		}
	}
}
