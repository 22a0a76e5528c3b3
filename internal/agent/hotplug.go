package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// onlineFile lists the CPUs that are online.
// Source: https://docs.kernel.org/admin-guide/cputopology.html
const onlineFile = "sys/devices/system/cpu/online"

// cpusStableFor is the time between two checks of the CPUs that containers can use. If these CPUs
// have changed, the agent waits until two checks in a row find the same CPUs, and then exits. The
// reason is that CPUs can go offline one after another, for example when SMT is disabled.
const cpusStableFor = 10 * time.Second

// restrict returns the machine with only the CPUs that containers can use. All other CPUs count as
// offline, because a container that got such a CPU could never start. Containers can use only the
// CPUs of the kubelet's root cgroup, which is above the cgroups of all pods. The kubelet sets the
// cpuset of this cgroup when it starts, so a CPU that came online later is not in the cpuset. If
// the kubelet's root cgroup is below other cgroups, it has only CPUs that these cgroups have, too.
func (a *agent) restrict(machine *topology.Machine) (*topology.Machine, error) {
	limit, group, err := a.cgroups.KubeletCPUs()
	if errors.Is(err, fs.ErrNotExist) {
		return machine, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which CPUs containers can use: %w", err)
	}
	if lacking := machine.Online().Minus(limit); !lacking.Empty() {
		a.lacking = fmt.Sprintf("CPUs %s are online, and the kubelet's cgroup %s has only CPUs %s; restart the kubelet, which sets its cgroup at its start", lacking, group, limit)
		a.log.Info("no container can use some online CPUs", "reason", a.lacking)
	}
	return machine.Restrict(limit), nil
}

// allUsable returns the condition AllCPUsUsable of the NodeTopology, the custom resource in which
// the agent describes this node. The condition says whether containers can use all online CPUs.
func (a *agent) allUsable() metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionAllCPUsUsable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
		Reason: "AllUsable", Message: "containers can use all online CPUs",
	}
	if a.lacking != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "KubeletCPUSet", a.lacking
	}
	return condition
}

// watchCPUs ends the agent when the CPUs that containers can use differ from those at the start of
// the agent. The kubelet then restarts the agent, and the new process reads the machine again.
// Meanwhile, pods stay pinned. If the agent kept running, it could assign an offline CPU, and a
// container with that CPU cannot start. The agent has no code that updates its list of CPUs while
// it runs, because such code would almost never run.
func (a *agent) watchCPUs(ctx context.Context) error {
	ticker := time.NewTicker(cpusStableFor)
	defer ticker.Stop()
	return untilOthersOnline(ctx, a.usable, ticker.C, a.usableNow)
}

// usableNow returns the online CPUs that containers can use. It returns false if it cannot find
// out which these are.
func (a *agent) usableNow() (cpuset.Set, bool) {
	now, ok := online(os.DirFS(a.cfg.SysfsRoot))
	limit, _, err := a.cgroups.KubeletCPUs()
	if errors.Is(err, fs.ErrNotExist) {
		return now, ok
	}
	return now.Intersect(limit), ok && err == nil
}

// untilOthersOnline calls the function given as `online` at each tick. It returns an error when two
// calls in a row return the same CPUs, and these are not the CPUs in the parameter `known`. It
// returns nil when ctx ends. A failed call counts as a call that returned the CPUs in `known`.
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
			return fmt.Errorf("the CPUs that are online and in the kubelet's cgroup are now %s, but were %s when the agent started; the agent ends, so that it reads the machine again at the next start", now, known)
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
