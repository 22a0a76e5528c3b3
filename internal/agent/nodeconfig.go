package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/pkg/cpuset"
)

// EventNodeConfig is the reason of the events that report a fault in the configuration of a Node.
// Conditions of the NodeTopology, the custom resource in which the agent describes this node,
// report most of these faults, too. But the agent publishes a NodeTopology only if it works with
// numalet-controller (the flag --controller).
const EventNodeConfig = "NumaletNodeConfig"

// kubeletEvery is the time between two checks of the kubelet's configuration. One check is not
// enough, because the kubelet can restart with another configuration while the agent runs. If
// someone replaces the configuration file with a new file, the agent's container still has the old
// file mounted, and sees the new file only after its own restart. The agent does not mount the
// directory of the file instead, because the secrets of all pods are below that directory.
const kubeletEvery = 30 * time.Second

// kubeletCheck finds the settings of the kubelet's configuration that conflict with Numalet.
type kubeletCheck struct {
	read    func() ([]kubelet.Conflict, error)
	changed func([]kubelet.Conflict)
	mu      struct {
		sync.Mutex
		conflicts []kubelet.Conflict
	}
}

// run checks the kubelet's configuration every kubeletEvery until ctx ends.
func (k *kubeletCheck) run(ctx context.Context) error {
	ticker := time.NewTicker(kubeletEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			k.check(logr.FromContextOrDiscard(ctx))
		}
	}
}

// check reads the kubelet's configuration. It calls k.changed if the conflicts with Numalet differ
// from those of the last check. If it cannot read the configuration, for example because someone is
// writing the file, it assumes that nothing has changed.
func (k *kubeletCheck) check(log logr.Logger) {
	now, err := k.read()
	if err != nil {
		log.Error(err, "cannot check the kubelet's configuration; retrying", "after", kubeletEvery)
		return
	}
	k.mu.Lock()
	same := slices.Equal(k.mu.conflicts, now)
	k.mu.conflicts = now
	k.mu.Unlock()
	if !same {
		k.changed(now)
	}
}

func (k *kubeletCheck) latest() []kubelet.Conflict {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.conflicts
}

// ready returns an error while the kubelet's CPU manager pins containers itself. The node must
// not serve pods with exclusive CPUs during that time.
func (k *kubeletCheck) ready() error {
	for _, c := range k.latest() {
		if c.Reason == kubelet.CPUManagerStatic {
			return c
		}
	}
	return nil
}

// condition returns the condition KubeletCompatible of the NodeTopology.
func (k *kubeletCheck) condition() metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionKubeletCompatible, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
		Reason: "Compatible", Message: "the kubelet's configuration has no setting that conflicts with Numalet",
	}
	if all := k.latest(); len(all) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, all[0].Reason, messages(all)
	}
	return c
}

func messages(all []kubelet.Conflict) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Error())
	}
	return strings.Join(texts, ". ")
}

// checkConfig checks the configuration of the node once, when the agent starts: the reserved CPUs
// and the kubelet's configuration.
func (a *agent) checkConfig(reserved cpuset.Set) {
	a.checkReserved(reserved)
	a.kubelet = &kubeletCheck{read: a.kubeletConflicts, changed: a.kubeletChanged}
	a.kubelet.check(a.log)
}

// kubeletConflicts reads the kubelet's configuration and returns its conflicts with Numalet.
func (a *agent) kubeletConflicts() ([]kubelet.Conflict, error) {
	c, err := kubelet.ReadConfig(a.cfg.KubeletConfig, a.cfg.KubeletConfigDir)
	if err != nil {
		return nil, err
	}
	return kubelet.Conflicts(c, a.cfg.KubeletDir)
}

// kubeletChanged is called when the conflicts of the kubelet's configuration have changed. It
// requests that the NodeTopology is published again, and reports all conflicts that exist now.
func (a *agent) kubeletChanged(now []kubelet.Conflict) {
	a.cluster.notify()
	if len(now) == 0 {
		a.log.Info("the kubelet's configuration does not conflict with Numalet any more")
		return
	}
	a.warnNode(messages(now))
}

// warnNode reports a fault in the node's configuration in the log and as an event on the Node.
func (a *agent) warnNode(message string) {
	a.log.Error(errors.New(message), "change the configuration of the node")
	a.events.Warn(nodeapi.NodeRef(a.cfg.NodeName), EventNodeConfig, message)
}

// unreserved is the message that says why CPUs should be reserved, and how to reserve them.
const unreserved = "no CPU is reserved, so a shared container that starts while the agent is away can start on exclusive CPUs; set reservedSystemCPUs in the kubelet's configuration, or --reserved-cpus of the agent and the device plugin"

// checkReserved warns if no CPU is reserved, which is the default on nodes that kubeadm has set
// up.
func (a *agent) checkReserved(reserved cpuset.Set) {
	a.unreserved = reserved.Empty()
	if a.unreserved {
		a.warnNode(unreserved)
	}
}

// reservedCondition returns the condition CPUsReserved of the NodeTopology.
func (a *agent) reservedCondition() metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionCPUsReserved, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
		Reason: "Reserved", Message: "shared containers start on the reserved CPUs, which are never exclusive",
	}
	if a.unreserved {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "NothingReserved", unreserved
	}
	return c
}
