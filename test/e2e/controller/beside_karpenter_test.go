//go:build e2e

package controller

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// karpenterPool is a NodePool with the label and the startup taint of docs/tasks/administer.md. Its
// nodes have 16 CPUs.
const karpenterPool = `
{apiVersion: karpenter.kwok.sh/v1alpha1, kind: KWOKNodeClass, metadata: {name: default}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: numalet}
spec:
  disruption: {consolidateAfter: Never}
  template:
    metadata:
      labels: {numalet.dev/exclusive-cpus: "true"}
    spec:
      startupTaints:
        - {key: numalet.dev/agent-not-ready, effect: NoSchedule}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m-16x-amd64-linux]}
`

// karpenterOverlay tells Karpenter the exclusive CPUs of the NUMA nodes of new nodes, as
// docs/tasks/administer.md says.
const karpenterOverlay = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: numalet}
spec:
  requirements:
    - {key: karpenter.sh/nodepool, operator: In, values: [numalet]}
  capacity: {numalet.dev/numa0-cpu: "7", numalet.dev/numa1-cpu: "8"}
`

// TestBesideKarpenter runs Karpenter with the controller on one API server. At first, the cluster has
// no nodes. Karpenter's provider kwok creates Node objects instead of machines, and the test does what
// the kubelet and the agent of a new node do. Karpenter must create a node for a pod with exclusive
// CPUs. If a pod fits no NUMA node of an existing node, but the node has enough free CPUs in total,
// Karpenter must not create a node. For a pod that requests CPUs of a certain NUMA node, it can
// create a node only if a NodeOverlay promises these CPUs. It also creates a node for a pod that
// waits for the quota of its tenant.
func TestBesideKarpenter(t *testing.T) {
	w := newWorld(t, 0, hollowcluster.Shape{})
	w.karpenter()
	w.create(ours("first", "4", "single"))
	first := w.addedNode(nil)
	w.serveNode(first)
	w.await("first is placed", func() bool { return w.pod("first").Spec.NodeName == first })
	w.await("Karpenter counts the node as initialized", func() bool {
		out, err := w.Kubectl(w.ctx, "get", "nodeclaims", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Initialized")].status}`)
		w.must(err)
		return out == "True"
	})

	w.create(ours("second", "5", "single"))
	w.await("second is placed", func() bool { return w.pod("second").Spec.NodeName == first })
	w.create(ours("wide", "5", "single")) // 6 CPUs are free, at most 4 of them on one NUMA node
	w.await("Karpenter expects wide on the first node", func() bool { return strings.Contains(w.karpenterSays("wide", "Nominated"), first) })
	if pod := w.pod("wide"); pod.Spec.NodeName != "" {
		t.Errorf("wide is on node %s", pod.Spec.NodeName)
	}
	w.must(w.api.CoreV1().Pods("default").Delete(w.ctx, "wide", *metav1.NewDeleteOptions(0))) // otherwise the pod wide could get CPUs of the next node, and the pod below needs them

	numa := ours("numa", "7", "")
	resources := &numa.Spec.Containers[0].Resources
	resources.Limits[corev1.ResourceName(v1alpha1.NUMAResource(0))] = quantity("7")
	resources.Requests = resources.Limits
	w.create(numa)
	w.await("Karpenter knows no node for the pod numa", func() bool { return w.karpenterSays("numa", "FailedScheduling") != "" })
	if nodes := w.nodeNames(); len(nodes) != 1 {
		t.Fatalf("Karpenter has created more nodes: %v", nodes)
	}
	w.must(w.kubectlApply(karpenterOverlay))
	second := w.addedNode([]string{first})
	w.serveNode(second)
	w.await("numa is placed", func() bool { return w.pod("numa").Spec.NodeName == second })

	w.apply(`{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: limited}, spec: {quotas: {cpu: "1"}}}`)
	over := ours("over", "12", "")
	over.Labels[v1alpha1.LabelTenant] = "limited"
	w.create(over)
	w.await("over waits for its quota", func() bool { return strings.Contains(w.waits("over"), "tenant limited") })
	w.addedNode([]string{first, second})
}

// karpenter installs Karpenter's custom resource definitions and a NodePool, and starts Karpenter with
// the rights of the administrator.
func (w *world) karpenter() {
	w.Helper()
	dir := filepath.Join(*besideDir, "karpenter")
	for _, definitions := range []string{"pkg/apis/crds", "kwok/apis/crds"} {
		_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-f", filepath.Join(dir, definitions))
		w.must(err)
	}
	_, err := w.Kubectl(w.ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	w.must(err)
	w.keep([]string{"KUBECONFIG=" + w.Kubeconfig}, "karpenter", filepath.Join(*besideDir, "bin/karpenter"),
		"--disable-leader-election=true", "--metrics-port=0", "--health-probe-port=0", "--feature-gates=NodeOverlay=true")
	w.retry("the NodePool is created", func() error { return w.kubectlApply(karpenterPool) })
}

func (w *world) nodeNames() (names []string) {
	w.Helper()
	list, err := w.api.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	w.must(err)
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	return names
}

// addedNode waits until Karpenter has added a node to the nodes in the argument `known`, and
// returns the name of the added node. It fails the test if Karpenter adds several. The node must
// have the label and the startup taint of the NodePool.
func (w *world) addedNode(known []string) (name string) {
	w.Helper()
	var added *corev1.Node
	w.await("Karpenter has added a node", func() bool {
		list, err := w.api.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{LabelSelector: "karpenter.sh/registered=true"})
		w.must(err)
		for i, node := range list.Items {
			if !slices.Contains(known, node.Name) {
				added = &list.Items[i]
			}
		}
		return added != nil
	})
	if all := w.nodeNames(); len(all) != len(known)+1 {
		w.Errorf("after %v were known, the nodes are %v", known, all)
	}
	tainted := slices.ContainsFunc(added.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1alpha1.TaintAgentNotReady })
	if added.Labels[v1alpha1.LabelExclusiveCPUs] != "true" || !tainted {
		w.Errorf("node %s has the labels %v and the taints %v", added.Name, added.Labels, added.Spec.Taints)
	}
	return added.Name
}

// serveNode reports a node as ready, as the kubelet and the agent of the node do, and removes its
// taints.
func (w *world) serveNode(name string) {
	w.Helper()
	shape := hollowcluster.Shape{NUMA: 2, CPUs: 8}
	node, err := w.api.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	w.must(err)
	node.Status = shape.Named(name).Status
	_, err = w.api.CoreV1().Nodes().UpdateStatus(w.ctx, node, metav1.UpdateOptions{})
	w.must(err)
	w.must(w.Serve(w.ctx, node, shape))
	_, err = w.Kubectl(w.ctx, "patch", "node", name, "--type=merge", "-p", `{"spec": {"taints": null}}`)
	w.must(err)
}

// karpenterSays returns the message of an event of Karpenter about a pod, or "" if there is none.
func (w *world) karpenterSays(pod, reason string) string {
	w.Helper()
	list, err := w.api.EventsV1().Events("default").List(w.ctx, metav1.ListOptions{})
	w.must(err)
	for _, e := range list.Items {
		if e.Regarding.Name == pod && e.Reason == reason && (e.DeprecatedSource.Component == "karpenter" || e.ReportingController == "karpenter") {
			return e.Note
		}
	}
	return ""
}
