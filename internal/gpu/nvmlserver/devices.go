package nvmlserver

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"
)

// deviceFile matches the names of the device files in /dev that NVML opens: one for the driver, and
// one for each GPU.
var deviceFile = regexp.MustCompile(`^nvidia(ctl|[0-9]+)$`)

// creationTime is the longest time that the container runtime may take to create a container: from
// the moment when it lists the device files of the host, until it has created the container's /dev.
const creationTime = time.Minute

// watchDevices returns an error when this container lacks device files of GPUs that the host has.
// The process then ends, and the kubelet creates a new container, which has these files. A
// privileged container has the device files that the host had when the container was created, and
// NVML finds no GPU whose file is missing. The driver may be loaded minutes after this container has
// started. watchDevices looks at each tick, and returns nil when ctx ends.
func watchDevices(ctx context.Context, host, own fs.FS, tick <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		if missing := missingDevices(host, own); len(missing) > 0 {
			return fmt.Errorf("the host has device files that are newer than this container: %s; ending, so that the kubelet creates a container that has them", strings.Join(missing, ", "))
		}
	}
}

// missingDevices returns the names of the device files of GPUs in the directory `host` that are not
// in the directory `own`, the directory /dev of this container. It leaves out files that the host
// had long before `own` was created: a new container would lack these files, too. For example, the
// runtime may give a container only some GPUs, and the files in `host` may be those of a container
// of the driver, which the host does not have.
func missingDevices(host, own fs.FS) (missing []string) {
	created, err := fs.Stat(own, ".")
	if err != nil {
		return nil
	}
	names, err := fs.Glob(host, "nvidia*")
	if err != nil {
		return nil
	}
	for _, name := range names {
		device, err := fs.Stat(host, name)
		if err != nil || device.Mode()&fs.ModeCharDevice == 0 || !deviceFile.MatchString(name) {
			continue
		}
		if _, err := fs.Stat(own, name); err != nil && device.ModTime().After(created.ModTime().Add(-creationTime)) {
			missing = append(missing, name)
		}
	}
	return missing
}
