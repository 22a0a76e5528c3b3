//go:build e2e

package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/nodeapi"
)

// TestChanges checks which patches of an existing pod the API server admits. The pod has one
// container with exclusive CPUs and two with shared CPUs.
func TestChanges(t *testing.T) {
	client, _ := server(t)
	p := pod("numalet-e2e-changes", v1alpha1.AnnotationCPUPolicy, v1alpha1.PolicySpread)
	p.Annotations[v1alpha1.AnnotationSharedContainers] = "exempt"
	p.Spec.Containers = append(p.Spec.Containers,
		corev1.Container{Name: "exempt", Resources: corev1.ResourceRequirements{Limits: limits("1")}},
		corev1.Container{Name: "fraction", Resources: corev1.ResourceRequirements{Limits: limits("500m")}})
	create(t, client, complete(p))

	const created, turned = "cannot change after the pod was created", "cannot change between exclusive and shared CPUs in place"
	for name, tc := range map[string]struct {
		patch, subresource string
		want               string // part of the refusal; "" if the patch is admitted
	}{
		"policy":                  {annotate(v1alpha1.AnnotationCPUPolicy, `"single"`), "", created},
		"no policy":               {annotate(v1alpha1.AnnotationCPUPolicy, "null"), "", created},
		"exemption":               {annotate(v1alpha1.AnnotationSharedContainers, `"main"`), "", created},
		"placement":               {annotate(v1alpha1.AnnotationPlacement, `"{}"`), "", created},
		"tenant":                  {`{"metadata":{"labels":{"numalet.dev/tenant":"victim"}}}`, "", "the label numalet.dev/tenant cannot change"},
		"foreign label":           {`{"metadata":{"labels":{"example.com/team":"x"}}}`, "", ""},
		"foreign annotation":      {annotate("example.com/note", `"x"`), "", ""},
		"resize exclusive":        {resize("main", "2"), "resize", ""},
		"grow exclusive":          {resize("main", "6"), "resize", ""},
		"resize to fraction":      {resize("main", "3500m"), "resize", turned},
		"request unlike limit":    {`{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"6"}}}]}}`, "resize", "QOS Class may not change"},
		"resize fraction":         {resize("fraction", "700m"), "resize", ""},
		"resize fraction to one":  {resize("fraction", "1"), "resize", turned},
		"resize exempt container": {resize("exempt", "2"), "resize", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var sub []string
			if tc.subresource != "" {
				sub = []string{tc.subresource}
			}
			_, err := client.CoreV1().Pods(p.Namespace).Patch(context.Background(), p.Name, types.StrategicMergePatchType,
				[]byte(tc.patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, sub...)
			expect(t, err, tc.want)
		})
	}
}

// TestResizeByNode checks that a container with a CPU limit for one NUMA node
// (numalet.dev/numa1-cpu) cannot be resized.
func TestResizeByNode(t *testing.T) {
	client, _ := server(t)
	p := pod("numalet-e2e-resize", "example.com/note", "x")
	p.Spec.Containers[0].Resources.Limits = limits("3")
	p.Spec.Containers[0].Resources.Limits["numalet.dev/numa1-cpu"] = resource.MustParse("3")
	create(t, client, complete(p))
	for cpu, want := range map[string]string{"4": "which Kubernetes cannot resize", "3": ""} {
		_, err := client.CoreV1().Pods(p.Namespace).Patch(context.Background(), p.Name, types.StrategicMergePatchType,
			[]byte(resize("main", cpu)), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "resize")
		expect(t, err, want)
	}
}

func TestBindingCarriesNoPlacement(t *testing.T) {
	client, _ := server(t)
	p := pod("numalet-e2e-binding", v1alpha1.AnnotationCPUPolicy, v1alpha1.PolicySpread)
	create(t, client, p)
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Annotations: map[string]string{v1alpha1.AnnotationPlacement: "{}"}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "none"},
	}
	err := client.CoreV1().Pods(p.Namespace).Bind(context.Background(), b, dry)
	expect(t, err, "which only the numalet controller may set")
}

func TestToleranceIsForSystemPods(t *testing.T) {
	client, _ := server(t)
	p := pod("tolerant", tolerance, "true")
	expect(t, dryRun(client, p), "is for pods in kube-system and in namespaces with the label numalet.dev/system")
	p.Namespace = "kube-system"
	_, err := client.CoreV1().Pods(p.Namespace).Create(context.Background(), p, dry)
	expect(t, err, "")
}

// TestAgentPatchesItsOwnNode sends patches of nodes as an agent. The user info of these requests
// names the agent's node, as in the requests of a real agent. The test checks that the agent can
// change only its own node. Of this node, it can change only the startup taint
// (numalet.dev/agent-not-ready, which keeps pods off a new node until its agent is ready) and the
// label numalet.dev/exclusive-cpus.
func TestAgentPatchesItsOwnNode(t *testing.T) {
	agent := agentOfTwoNodes(t)
	label := func(key string) string { return fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, key) }
	taints := func(keys ...string) string {
		var list []string
		for _, key := range keys {
			list = append(list, fmt.Sprintf(`{"key":%q,"effect":"NoSchedule"}`, key))
		}
		return `{"spec":{"taints":[` + strings.Join(list, ",") + `]}}`
	}
	for name, tc := range map[string]struct{ node, patch, want string }{
		"other node's taint":       {"numalet-e2e-other", taints("other"), "may not change node"},
		"other taint":              {"numalet-e2e-own", taints(v1alpha1.TaintAgentNotReady), "and nothing else"},
		"all taints":               {"numalet-e2e-own", `{"spec":{"taints":null}}`, "and nothing else"},
		"one more taint":           {"numalet-e2e-own", taints("other", "more"), "and nothing else"},
		"startup taint and cordon": {"numalet-e2e-own", `{"spec":{"unschedulable":true,"taints":[{"key":"other","effect":"NoSchedule"}]}}`, "and nothing else"},
		"provider":                 {"numalet-e2e-own", `{"spec":{"providerID":"x"}}`, "and nothing else"},
		"own label":                {"numalet-e2e-own", label(v1alpha1.LabelExclusiveCPUs), ""},
		"other node":               {"numalet-e2e-other", label(v1alpha1.LabelExclusiveCPUs), "may not change node"},
		"other label":              {"numalet-e2e-own", label("zone"), "and nothing else"},
		"finalizer":                {"numalet-e2e-own", `{"metadata":{"finalizers":["example.com/x"]}}`, "and nothing else"},
		"annotation":               {"numalet-e2e-own", `{"metadata":{"annotations":{"example.com/x":"x"}}}`, "and nothing else"},
		"cordon":                   {"numalet-e2e-own", `{"spec":{"unschedulable":true}}`, "and nothing else"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := agent.CoreV1().Nodes().Patch(context.Background(), tc.node, types.MergePatchType, []byte(tc.patch),
				metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			expect(t, err, tc.want)
		})
	}
}

// TestAgentRemovesStartupTaint lets the agent's own code remove the startup taint of its node. It
// tries again after a conflict, as the agent does. There can be a conflict because
// kube-controller-manager taints the node as unreachable: no kubelet runs there.
func TestAgentRemovesStartupTaint(t *testing.T) {
	agent := agentOfTwoNodes(t)
	removed := false
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		removed, err = nodeapi.RemoveStartupTaint(context.Background(), agent, "numalet-e2e-own")
		return err
	})
	if err != nil || !removed {
		t.Errorf("removed %t: %v", removed, err)
	}
	_, err = nodeapi.RemoveStartupTaint(context.Background(), agent, "numalet-e2e-other")
	expect(t, err, "may not change node")
}

// TestAgentPatchesItsOwnNodeStatus sends patches of the status of nodes as an agent. The test checks
// that the agent can change only the condition NumaletGPUUnhealthy of its own node.
func TestAgentPatchesItsOwnNodeStatus(t *testing.T) {
	agent := agentOfTwoNodes(t)
	condition := func(kind, status string) string {
		return fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}]}}`, kind, status)
	}
	removed := func(kind string) string {
		return fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"$patch":"delete"}]}}`, kind)
	}
	for name, tc := range map[string]struct{ node, patch, want string }{
		"the condition":             {"numalet-e2e-own", condition(v1alpha1.NodeConditionGPUUnhealthy, "True"), ""},
		"the condition's removal":   {"numalet-e2e-own", removed(v1alpha1.NodeConditionGPUUnhealthy), ""},
		"other node's condition":    {"numalet-e2e-other", condition(v1alpha1.NodeConditionGPUUnhealthy, "True"), "may not change the status of node"},
		"new condition":             {"numalet-e2e-own", condition("KernelDeadlock", "True"), "and nothing else"},
		"the kubelet's condition":   {"numalet-e2e-own", condition("Ready", "False"), "and nothing else"},
		"the removal of another":    {"numalet-e2e-own", removed("Ready"), "and nothing else"},
		"all conditions":            {"numalet-e2e-own", `{"status":{"conditions":null}}`, "and nothing else"},
		"capacity":                  {"numalet-e2e-own", `{"status":{"capacity":{"example.com/x":"1"}}}`, "and nothing else"},
		"address":                   {"numalet-e2e-own", `{"status":{"addresses":[{"type":"Hostname","address":"x"}]}}`, "and nothing else"},
		"version of the kubelet":    {"numalet-e2e-own", `{"status":{"nodeInfo":{"kubeletVersion":"x"}}}`, "and nothing else"},
		"the condition and a label": {"numalet-e2e-own", `{"metadata":{"labels":{"zone":"x"}},"status":{"conditions":[{"type":"NumaletGPUUnhealthy","status":"True"}]}}`, "and nothing else"},
		"own label":                 {"numalet-e2e-own", `{"metadata":{"labels":{"numalet.dev/exclusive-cpus":"true"}}}`, "and nothing else"},
		"annotation":                {"numalet-e2e-own", `{"metadata":{"annotations":{"example.com/x":"x"}}}`, "and nothing else"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := agent.CoreV1().Nodes().Patch(context.Background(), tc.node, types.StrategicMergePatchType, []byte(tc.patch),
				metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
			expect(t, err, tc.want)
		})
	}
}

// TestOwnLease checks that the agent can write the heartbeat Lease of its own node. The agent can
// write neither the Lease of the controller's leader election nor that of another node.
func TestOwnLease(t *testing.T) {
	_, config := server(t)
	agent := asAgent(config, "numalet-e2e-own")
	for name, want := range map[string]string{
		v1alpha1.HeartbeatName("numalet-e2e-own"):   "",
		v1alpha1.HeartbeatName("numalet-e2e-other"): "may not write Lease",
		"numalet-controller":                        "may not write Lease",
	} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := agent.CoordinationV1().Leases("default").Create(context.Background(), lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		expect(t, err, want)
	}
}

// agentOfTwoNodes creates the nodes numalet-e2e-own and numalet-e2e-other, and returns a client of the
// agent of the first one. Both nodes have the startup taint and another taint, and the conditions of
// a kubelet and of an agent.
func agentOfTwoNodes(t *testing.T) *kubernetes.Clientset {
	client, config := server(t)
	for _, name := range []string{"numalet-e2e-own", "numalet-e2e-other"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: v1alpha1.TaintAgentNotReady, Effect: corev1.TaintEffectNoSchedule}, {Key: "other", Effect: corev1.TaintEffectNoSchedule},
		}}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: v1alpha1.NodeConditionGPUUnhealthy, Status: corev1.ConditionFalse},
		}}}
		if _, err := client.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	return asAgent(config, "numalet-e2e-own")
}

// asAgent returns a client with the user info of the agent's bound token. The client is also in the
// group system:masters, which has all RBAC permissions. So only the admission policies can refuse
// its requests.
func asAgent(config *rest.Config, node string) *kubernetes.Clientset {
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:numalet-system:numalet-agent",
		Groups:   []string{"system:masters"},
		Extra:    map[string][]string{"authentication.kubernetes.io/node-name": {node}},
	}
	return kubernetes.NewForConfigOrDie(as)
}

// create creates a pod, and deletes it when the test ends.
func create(t *testing.T, client *kubernetes.Clientset, pod *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods(pod.Namespace).Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, *metav1.NewDeleteOptions(0))
	})
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("admitted, want: … %s …", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %q, want: … %s …", err, want)
	}
}

func annotate(key, json string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, json)
}

func resize(container, cpu string) string {
	quantity := resource.MustParse(cpu)
	return fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"resources":{"limits":{"cpu":%q},"requests":{"cpu":%q}}}]}}`,
		container, quantity.String(), quantity.String())
}
