package agent

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// onlineFile lists the CPUs that are online.
// Source: https://docs.kernel.org/admin-guide/cputopology.html
const onlineFile = "sys/devices/system/cpu/online"

// settleCPUs is how long the CPUs that are online have to stay the same before
// the agent ends for them: whoever switches hyper-threading off takes one CPU
// after another.
const settleCPUs = 10 * time.Second

// watchCPUs ends the agent when other CPUs are online than when it read the
// machine. The kubelet starts it again, and it reads the machine anew; pods stay
// pinned meanwhile. Without that, every container that shares would be written a
// set with an offline CPU, which the kernel does not put in force, and nothing
// would be created any more. Changing the ledger in place was rejected: the
// rare event would have a path of its own that nobody walks.
func (a *agent) watchCPUs(ctx context.Context) error {
	look := time.NewTicker(settleCPUs)
	defer look.Stop()
	return untilOthersOnline(ctx, a.online, look.C, func() (cpuset.Set, bool) { return online(os.DirFS(a.cfg.SysfsRoot)) })
}

// untilOthersOnline returns nil when ctx ends, and an error when at two ticks in
// a row the same other CPUs than known are online. What cannot be read counts
// as unchanged.
func untilOthersOnline(ctx context.Context, known cpuset.Set, tick <-chan time.Time, online func() (cpuset.Set, bool)) error {
	last := known
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		now, ok := online()
		switch {
		case !ok || now.Equal(known):
			last = known
		case now.Equal(last):
			return fmt.Errorf("CPUs %s are online, and were %s when the agent started: it ends, to start anew and read the machine again", now, known)
		default:
			last = now
		}
	}
}

func online(root fs.FS) (cpuset.Set, bool) {
	text, err := fs.ReadFile(root, onlineFile)
	if err != nil {
		return cpuset.Set{}, false
	}
	set, err := cpuset.Parse(string(text))
	return set, err == nil && !set.Empty()
}
