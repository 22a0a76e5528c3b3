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

// cpusStableFor is how long the online CPUs must be unchanged before the agent ends:
// when SMT is disabled, CPUs go offline one after another.
const cpusStableFor = 10 * time.Second

// watchCPUs ends the agent when the online CPUs differ from those at its start. The
// kubelet restarts it, and it reads the machine again; pods stay pinned meanwhile.
// Otherwise the shared set would have an offline CPU, which the kernel does not put
// in force, and every creation of a container would fail. A change of the ledger in
// place was rejected: it would be code that almost never runs.
func (a *agent) watchCPUs(ctx context.Context) error {
	ticker := time.NewTicker(cpusStableFor)
	defer ticker.Stop()
	return untilOthersOnline(ctx, a.online, ticker.C, func() (cpuset.Set, bool) { return online(os.DirFS(a.cfg.SysfsRoot)) })
}

// untilOthersOnline returns nil when ctx ends, and an error when the online CPUs differ
// from known and are the same at two consecutive ticks. A failed read counts as
// unchanged.
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
			return fmt.Errorf("the online CPUs are now %s, but were %s when the agent started; the agent ends, so that it reads the machine again at the next start", now, known)
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
