//go:build e2e

package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// TestEveryPermissionOfTheAgentIsNeeded starts the agent on the machine that runs the test, without
// a kubelet. At first, the agent has only one of its permissions, the permission to patch events,
// which another test checks. For each missing permission, the test checks that a request fails
// because the permission is missing, and that the agent logs this. After that, the permission is
// granted again.
func TestEveryPermissionOfTheAgentIsNeeded(t *testing.T) {
	w := newPlane(t, 1, hollowcluster.Shape{NUMA: 1, CPUs: 4})
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-f", repository+"/deploy/daemonset/rbac.yaml")
	w.must(err)
	_, err = w.Kubectl(w.ctx, "delete", "nodetopology", "node-00000")
	w.must(err)
	lacking, kubeconfig := w.withdrawOnNode("numalet-agent")
	w.rejected("rejected")
	w.sick("node-00000")

	dir := t.TempDir()
	w.must(os.WriteFile(filepath.Join(dir, "static.yaml"), []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"), 0o600))
	start := func(name, kubeletConfig string) *hollowcluster.Process {
		file := w.File(name + ".log")
		lacking.logs(file)
		agent, err := w.Start(name, *agentProgram, "--kubeconfig="+kubeconfig, "--node-name=node-00000", "--controller", "--enforce=cgroup", "--reserved-cpus=0", "-v=2",
			"--checkpoint="+filepath.Join(dir, name+".json"), "--kubelet-dir="+dir, "--kubelet-config="+filepath.Join(dir, kubeletConfig), "--health-addr=127.0.0.1:0")
		w.must(err)
		t.Cleanup(func() { _ = agent.Stop(10 * time.Second); w.show(file) })
		return agent
	}
	<-start("static", "static.yaml").Over() // with this kubelet configuration, the agent cannot start: it tries to remove the label of its node, which the API server refuses, and exits
	start("agent", "none.yaml")
	w.await("the agent reports its node", func() bool {
		version, err := w.Kubectl(w.ctx, "get", "nodetopology", "node-00000", "-o", "jsonpath={.status.conditions[0].type}")
		return err == nil && version != ""
	})
	w.await("the rejected pod is failed", func() bool { return w.pod("rejected").Status.Phase == corev1.PodFailed })
	w.await("the agent renews its Lease", func() bool {
		_, err := w.api.CoordinationV1().Leases("numalet-system").Get(w.ctx, v1alpha1.HeartbeatName("node-00000"), metav1.GetOptions{})
		return err == nil
	})
	w.await("the condition of the Node is removed", func() bool {
		node, err := w.api.CoreV1().Nodes().Get(w.ctx, "node-00000", metav1.GetOptions{})
		w.must(err)
		return !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == v1alpha1.NodeConditionGPUUnhealthy })
	})
	<-start("static-again", "static.yaml").Over() // now the agent tries to report why it does not start, and exits; the API server refuses the report
	w.await("nothing is missing", lacking.done)
	lacking.check()
}

// rejected creates a pod that an agent has rejected, but whose phase is not Failed. Such pods exist
// if the kubelet overwrites the phase that the agent has set.
func (w *world) rejected(name string) {
	w.Helper()
	w.create(hollowcluster.Pod("default", name, "nobody", "1", 0))
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.AnnotationPlacement: `{"version":1,"containers":{}}`}},
		Target: corev1.ObjectReference{Kind: "Node", Name: "node-00000"}}
	w.must(w.as("numalet-system", "numalet-controller").CoreV1().Pods("default").Bind(w.ctx, binding, metav1.CreateOptions{}))
	pod := w.pod(name)
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: v1alpha1.ReasonPlacementRejected, Message: "rejected"})
	_, err := w.api.CoreV1().Pods("default").UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
	w.must(err)
}

// sick sets the condition NumaletGPUUnhealthy of a node, as if an agent had set it while the node
// had GPUs.
func (w *world) sick(node string) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":"True"}]}}`, v1alpha1.NodeConditionGPUUnhealthy)
	_, err := w.api.CoreV1().Nodes().PatchStatus(w.ctx, node, patch)
	w.must(err)
}
