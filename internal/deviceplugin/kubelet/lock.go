package kubelet

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock makes this process the only numalet-deviceplugin of the node, until the
// file returned is closed or the process ends. It locks the directory itself,
// so nothing stays behind.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the kubelet's device plugin directory: %w: is the kubelet running, and --kubelet-dir its root directory?", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another numalet-deviceplugin serves this node (it holds the lock on %s): stop one of them", dir)
	}
	return nil, fmt.Errorf("lock %s: %w", dir, err)
}
