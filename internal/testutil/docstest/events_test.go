package docstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent"
	"github.com/numalet/numalet/internal/agent/installer"
	"github.com/numalet/numalet/internal/agent/node"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/jobplan"
	"github.com/numalet/numalet/pkg/numaplan"
)

// notice is a row of the reference table of events or of conditions. The field `name` is the
// reason of the event, or the type of the condition. The field `kind` is "Normal" or "Warning" for
// an event, and "" for a condition. The field `on` is the kind of the object that has the event or
// condition. The field `when` is the situation in which it occurs, and the field `do` is what a
// user must do then.
type notice struct{ name, kind, on, when, do string }

// events returns the events that Numalet's programs write.
func events() []notice {
	return []notice{
		{v1alpha1.EventScheduled, "Normal", "Pod", "The controller bound the pod to a node.", ""},
		{v1alpha1.EventFailedScheduling, "Warning", "Pod", "No node suits the pod, the nodes that were found for it refuse it, the pod waits for other pods, or the API server refused to bind the pod.", "`numalet why POD`; see [why a pod waits](../tasks/why-a-pod-waits.md)."},
		{node.EventReason, "Warning", "Pod", "The agent refused to create or start a container. The kubelet tries again, but perhaps not if the start was refused and the pod's restartPolicy is `Never`. The message then says so.", "Do what the message says; see [refusals](#refusals-of-the-agent)."},
		{v1alpha1.ReasonPlacementRejected, "Warning", "Pod", "The node cannot honour the controller's placement, so the agent ended the pod.", "If the pod has an owner, nothing: the owner creates a new pod. Otherwise create the pod again."},
		{agent.EventNodeConfig, "Warning", "Node", "The agent cannot start, the kubelet's configuration conflicts with Numalet, or no CPU is reserved.", "Change the configuration of the node as the message says."},
		{installer.EventContainerd, "Normal, Warning", "Node", "`numalet-containerd` has changed containerd's configuration so that containerd requires the agent, or has undone this change. The event has the type Warning if one of the two failed.", "Do what the message says; see [deploy/containerd](../../deploy/containerd/README.md)."},
		{agent.EventGPUUnhealthy, "Warning", "Node", "A GPU or MIG slice became unhealthy.", "Do what the message says; see [find unhealthy GPUs](../tasks/administer.md#find-unhealthy-gpus)."},
		{node.GPUsHiddenReason, "Warning", "Pod", "A container names GPUs by UUID in `NVIDIA_VISIBLE_DEVICES`, and Numalet's device plugin did not allocate GPUs to it. The agent hides all GPUs from the container.", "If another device plugin serves the resource, remove it; see [GPUs](../tasks/administer.md#gpus)."},
		{node.PartlyIsolatedReason, "Normal", "Pod", "The pod has the annotation `numalet.dev/isolation`, and the node's kernel has no cgroup file `cpuset.cpus.exclusive`. The node keeps only interrupts and unbound workqueues off the pod's CPUs.", "Use a nodeSelector for nodes with Linux 6.7 or later; see [isolation](../tasks/administer.md#isolation)."},
		{node.ResizedReason, "Normal", "Pod", "A resize in place has changed the exclusive CPUs of a container. The message lists the new CPUs. If the container has fewer CPUs than before, it also lists the CPUs that become shared.", ""},
		{agent.EventForeignTime, "Warning", "Pod", "Interrupts, kernel threads and other processes used too much of the time of the pod's exclusive CPUs (`--foreign-time-threshold`).", "Do what the message says; see [foreign time](../tasks/administer.md#interrupts-and-system-processes-on-exclusive-cpus)."},
		{v1alpha1.EventFailedCreate, "Warning", "Job", "The API server refused a pod, a Service or a ConfigMap of the Job.", "The message says why: a quota, a policy, or another object with the same name."},
		{jobplan.EventPodFailed, "Warning", "Job", "A pod of the Job failed.", "Read `kubectl logs` of the pod before a new pod with the same name replaces it."},
		{jobplan.EventPodStuck, "Warning", "Job", "A pod of the Job is being deleted, but its node has not ended it half a minute after its grace period. No new pod is created in the meantime.", "If the node is down, do what the message says; see [a node is down](../tasks/run-jobs.md#phases)."},
		{jobplan.ReasonLimit, "Warning", "Job", "The Job failed: its pods failed more often than `backoffLimit`.", "Read the logs of the pods that failed."},
		{jobplan.ReasonDeadline, "Warning", "Job", "The Job failed: it ran longer than `activeDeadlineSeconds`.", "Raise the deadline, or find out why the Job is slow."},
		{jobplan.ReasonInvalid, "Warning", "Job", "No pod can be created from the template, or the names of the pods do not fit into a ConfigMap.", "Delete the Job, correct it as the message says, and create it again."},
		{jobplan.EventCompleted, "Normal", "Job", "Every pod succeeded.", ""},
		{jobplan.EventSuspended, "Normal", "Job", "`spec.suspend` became true; pods that have not succeeded are deleted.", ""},
		{jobplan.EventResumed, "Normal", "Job", "`spec.suspend` became false.", ""},
	}
}

// conditions returns the conditions that Numalet's programs set.
func conditions() []notice {
	return []notice{
		{"PodScheduled", "", "Pod", "False with reason `Unschedulable` while no node suits the pod, the nodes that were found refuse it, or other pods come first, and with reason `SchedulerError` if the API server refused the Binding.", "Read the message; `numalet why POD`."},
		{"DisruptionTarget", "", "Pod", "True with reason `" + v1alpha1.ReasonPlacementRejected + "` when the agent ended the pod.", "If a Job of batch/v1 must not count the pod as failed, let its `podFailurePolicy` ignore this condition."},
		{v1alpha1.ConditionReady, "", "NodeTopology", "True (`Serving`) while the node serves exclusive CPUs; Unknown (`Starting`); False (`SwitchedOff`, `RuntimeNotServed`, `SystemdUnreachable`, `CPUManagerStatic`).", "The message and the agent's `/readyz` say why."},
		{v1alpha1.ConditionAllCPUsUsable, "", "NodeTopology", "True (`AllUsable`); False (`KubeletCPUSet`) while the kubelet's cgroup for pods lacks some online CPUs. These CPUs came online after the kubelet's start, or a cgroup above does not have them.", "Restart the kubelet."},
		{v1alpha1.ConditionKubeletCompatible, "", "NodeTopology", "True (`Compatible`); False (`" + kubelet.CPUManagerStatic + "`, `" + kubelet.MemoryManagerStatic + "`, `" + kubelet.TopologyManager + "`) while a setting of the kubelet conflicts with Numalet.", "Change the kubelet's configuration as the message says."},
		{v1alpha1.ConditionCPUsReserved, "", "NodeTopology", "True (`Reserved`); False (`NothingReserved`) while no CPU is reserved.", "Reserve CPUs as the message says."},
		{v1alpha1.ConditionGPUsHealthy, "", "NodeTopology", "True (`Healthy`); False (`Unhealthy`); Unknown (`NotMonitored`). A node without GPUs does not have this condition.", "Do what the message says."},
		{v1alpha1.NodeConditionGPUUnhealthy, "", "Node", "The same as `" + v1alpha1.ConditionGPUsHealthy + "`, with the opposite status: True (`Unhealthy`); False (`Healthy`); Unknown (`NotMonitored`). A node without GPUs does not have this condition.", "Do what the message says."},
		{v1alpha1.ConditionCPUsUndisturbed, "", "NodeTopology", "True (`BelowThreshold`, or `NotChecked` if `--foreign-time-threshold` is 0); False (`ForeignTime`) while interrupts, kernel threads and other processes use too much of the time of exclusive CPUs. The message lists the containers that have these CPUs.", "See the events of the pods."},
		{v1alpha1.ConditionReady, "", "Tenant", "True (`Counted`) while the spec is in force; False (`BadSpec`).", "Correct the spec as the message says."},
		{v1alpha1.ConditionWithinQuota, "", "Tenant", "True (`WithinQuota`); False (`OverQuota`) while the tenant holds more than a quota allows, for example because the quota was lowered.", "Running pods keep what they hold. New pods wait."},
		{v1alpha1.ConditionAccepted, "", "GPUGroup", "True (`Accepted`); False with one of the [reasons of GPU groups](#reasons-of-gpu-groups), or `AuthorNotAllowed` (the author of the spec may not use one of its tenants or GPUs), `PartsNotServed` (a group cannot have shares of GPUs or MIG slices), `PermissionsUnknown`, or `CheckFailed`. The message says which spec of the group is in force.", "Correct the group, or ask an administrator for the permission. `CheckFailed` is a fault of the controller: report it."},
		{v1alpha1.ConditionShared, "", "GPUGroup", "True while other groups have some of the GPUs of this group, too.", ""},
		{v1alpha1.ConditionSuspended, "", "Job", "True (`" + jobplan.ReasonUser + "`) while `spec.suspend` is true.", ""},
		{v1alpha1.ConditionComplete, "", "Job", "True (`" + jobplan.ReasonComplete + "`) once every pod succeeded.", ""},
		{v1alpha1.ConditionFailed, "", "Job", "True with reason `" + jobplan.ReasonLimit + "`, `" + jobplan.ReasonDeadline + "` or `" + jobplan.ReasonInvalid + "`.", "See the event of that reason."},
	}
}

// TestReferenceOfEvents checks that the reference page of events and conditions agrees with the
// constants of the code. The page also lists the reasons for which Numalet refuses a pod, with the
// comments of their constants.
func TestReferenceOfEvents(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Events and conditions\n\nThis page is generated from the constants of the code; `make generate` writes it.\n" +
		"`kubectl describe` shows both.\n\n## Events\n\n| reason | type | on | when | what to do |\n|---|---|---|---|---|\n")
	for _, event := range events() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", event.name, event.kind, event.on, event.when, event.do)
	}
	b.WriteString("\n## Conditions\n\n| type | on | values and reasons | what to do |\n|---|---|---|---|\n")
	for _, condition := range conditions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", condition.name, condition.on, condition.when, condition.do)
	}
	const counted = "The label `reason` of the metric `numalet_refusals_total` has these values, those of the next two sections, and `Internal` for any other error."
	reasons(t, &b, "Refusals of the agent", counted, "/internal/agent/node/refuse.go", word)
	reasons(t, &b, "Refusals of requests", "The pod itself is wrong. [Troubleshoot](../tasks/troubleshoot.md#a-request-is-refused) says what to do.", "/api/v1alpha1/cpurequest.go", word)
	reasons(t, &b, "Refusals for lack of CPUs", "The node lacks the CPUs or the memory that the pod requests, at the moment of the request or for ever.", "/pkg/numaplan/reason.go",
		func(i int, _ constant) string { return numaplan.Outcome(i).String() })
	reasons(t, &b, "Reasons of GPU groups", "These are the reasons why a group is not in force, or why a pod gets no GPUs of a group.", "/pkg/gpu/group/refusal.go",
		func(i int, _ constant) string { return group.GPURefusalReason(i).String() })
	scenario.Golden(t, root+"/docs/reference/events.md", b.String())
}

// word returns the value of a constant if the constant has the same name and value, as in
// `NotGuaranteed = "NotGuaranteed"`. It returns "" for other constants: they are not reasons.
func word(_ int, c constant) string {
	if c.name != c.value {
		return ""
	}
	return c.value
}

// reasons writes a section of the reference page, with a table of the constants of a Go file. Each
// row has the reason that a constant stands for, and the comment of the constant. The parameter
// `reason` is a function that returns the reason for a constant, or "" if the constant is not a
// reason. The table leaves out these constants, and constants without a comment.
func reasons(t *testing.T, b *strings.Builder, title, preface, file string, reason func(int, constant) string) {
	t.Helper()
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| reason | meaning |\n|---|---|\n", title, preface)
	rows := 0
	for _, block := range constants(t, root+file) {
		for i, c := range block.constants {
			if text := reason(i, c); text != "" && c.comment != "" {
				fmt.Fprintf(b, "| `%s` | %s |\n", text, cell(c.comment))
				rows++
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s has no reasons", file)
	}
}
