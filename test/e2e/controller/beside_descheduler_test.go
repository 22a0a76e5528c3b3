//go:build e2e

package controller

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// deschedulerCase is a test case: some pods, and the pods that the descheduler must evict in each
// of two runs.
type deschedulerCase struct {
	name     string
	policy   string // the controller's flag --policy
	pods     []deschedulerPods
	unserved string // the node that loses the label that marks nodes with an agent
	strategy deschedulerStrategy
	want     [2]map[string]int // for each run, the number of new pods that replace evicted ones; a key is the Deployment and the node of the new pods
}

// deschedulerPods are the pods of a Deployment. Before the first run, all of them are on one node.
type deschedulerPods struct {
	besideDeployment
	node string
}

// deschedulerStrategy is a plugin of the descheduler.
type deschedulerStrategy struct{ point, name, args string }

// The nodes. Each has 7 allocatable CPUs on NUMA node 0, and 8 on NUMA node 1.
const nodeA, nodeB = "node-00000", "node-00001"

func deschedulerCases() []deschedulerCase {
	// The first strategy evicts pods from nodes with more than half of their CPUs in use, if other
	// nodes have less than a fifth of theirs in use. The second one does the same with 72 %
	// and 70 %. The third one evicts the pods of nodes with less than a fifth of their CPUs in use.
	spread := deschedulerStrategy{"balance", "LowNodeUtilization", "{thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}"}
	level := deschedulerStrategy{"balance", "LowNodeUtilization", "{thresholds: {cpu: 70}, targetThresholds: {cpu: 72}}"}
	pack := deschedulerStrategy{"balance", "HighNodeUtilization", "{thresholds: {cpu: 20}}"}
	affinity := deschedulerStrategy{"deschedule", "RemovePodsViolatingNodeAffinity", "{nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}"}

	many := besideDeployment{name: "many", replicas: 6, limits: "cpu: 2, memory: 64Mi"}
	lone := besideDeployment{name: "lone", replicas: 1, limits: "cpu: 2, memory: 64Mi"}
	fives := besideDeployment{name: "fives", replicas: 2, limits: "cpu: 5, memory: 64Mi"}
	five := besideDeployment{name: "five", replicas: 1, limits: "cpu: 5, memory: 64Mi"}
	six := besideDeployment{name: "six", replicas: 1, limits: "cpu: 6, memory: 64Mi"}
	protected, affine := many, lone
	protected.annotations = `descheduler.alpha.kubernetes.io/prefer-no-eviction: ""`
	affine.name = "affine"
	affine.spec = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}}"

	return []deschedulerCase{
		{name: "both spread", policy: "leastfit", strategy: spread, pods: []deschedulerPods{{many, nodeA}}, want: [2]map[string]int{{"many on " + nodeB: 3}, {}}},
		{name: "both pack", policy: "bestfit", strategy: pack, pods: []deschedulerPods{{many, nodeA}, {lone, nodeB}}, want: [2]map[string]int{{"lone on " + nodeA: 1}, {}}},

		// The new pods are placed where the old ones were, so the next run evicts them again.
		{name: "Numalet packs", policy: "bestfit", strategy: spread, pods: []deschedulerPods{{many, nodeA}}, want: [2]map[string]int{{"many on " + nodeA: 3}, {"many on " + nodeA: 3}}},
		{name: "Numalet spreads", policy: "leastfit", strategy: pack, pods: []deschedulerPods{{many, nodeA}, {lone, nodeB}}, want: [2]map[string]int{{"lone on " + nodeB: 1}, {"lone on " + nodeB: 1}}},

		// Node B has 5 free CPUs, but no more than 3 of them are on one NUMA node.
		{name: "NUMA nodes", policy: "leastfit", strategy: level, pods: []deschedulerPods{{fives, nodeB}, {six, nodeA}, {five, nodeA}}, want: [2]map[string]int{{"five on " + nodeA: 1}, {"five on " + nodeA: 1}}},

		{name: "protected", policy: "leastfit", strategy: spread, pods: []deschedulerPods{{protected, nodeA}}, want: [2]map[string]int{{}, {}}},

		// Both pods have a nodeSelector for nodes with an agent. The descheduler compares it with the
		// labels of the node only if the pod also has a required node affinity.
		{name: "no agent", policy: "leastfit", strategy: affinity, unserved: nodeA, pods: []deschedulerPods{{lone, nodeA}, {affine, nodeA}}, want: [2]map[string]int{{"affine on " + nodeB: 1}, {}}},
	}
}

// TestBesideDescheduler runs the descheduler and the controller, which use the same API server. The
// descheduler evicts pods, Deployments replace them, and Numalet places the new pods. No pod really
// runs, because there is no kubelet. So the test itself sets the phases of pods.
func TestBesideDescheduler(t *testing.T) {
	w := newPlane(t, 2, hollowcluster.Shape{NUMA: 2, CPUs: 8})
	w.controllers("deployment-controller,replicaset-controller,garbage-collector-controller")
	for _, c := range deschedulerCases() {
		t.Run(c.name, func(t *testing.T) {
			own := *w
			own.T = t
			own.startController("--policy=" + c.policy)
			for _, p := range c.pods {
				own.fill(p)
			}
			if c.unserved != "" {
				own.kubectl("label", "node", c.unserved, v1alpha1.LabelExclusiveCPUs+"-")
				defer own.kubectl("label", "node", c.unserved, v1alpha1.LabelExclusiveCPUs+"=true")
			}
			for i, want := range c.want {
				if diff := cmp.Diff(want, own.deschedule(c)); diff != "" {
					t.Errorf("new pods after run %d of the descheduler (-want +got):\n%s", i+1, diff)
				}
			}
			own.kubectl("delete", "deployments", "--all")
			own.await("the pods are deleted", func() bool { return len(own.podsOf("")) == 0 })
		})
	}
}

// fill creates a Deployment while the node for its pods is the only schedulable one.
func (w *world) fill(p deschedulerPods) {
	w.Helper()
	other := map[string]string{nodeA: nodeB, nodeB: nodeA}[p.node]
	w.kubectl("cordon", other)
	w.apply(p.manifest())
	w.await("the pods of "+p.name+" are placed", func() bool { return w.placedOf("app="+p.name) == p.replicas })
	w.run("app=" + p.name)
	w.kubectl("uncordon", other)
}

// deschedule runs the descheduler once, with the rights of the administrator, and waits until all
// pods are placed again. It returns the number of new pods, by Deployment and node.
func (w *world) deschedule(c deschedulerCase) map[string]int {
	w.Helper()
	pods, old := 0, map[types.UID]bool{}
	for _, p := range c.pods {
		pods += p.replicas
	}
	for _, pod := range w.podsOf("") {
		old[pod.UID] = true
	}
	file := w.File("descheduler.yaml")
	w.must(os.WriteFile(file, fmt.Appendf(nil, `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: test
    pluginConfig: [{name: DefaultEvictor, args: {nodeFit: true, noEvictionPolicy: Mandatory}}, {name: %[1]s, args: %[2]s}]
    plugins: {%[3]s: {enabled: [%[1]s]}}
`, c.strategy.name, c.strategy.args, c.strategy.point), 0o600))
	cmd := exec.CommandContext(w.ctx, filepath.Join(*besideDir, "bin/descheduler"), "--kubeconfig="+w.Kubeconfig, "--policy-config-file="+file,
		"--disable-metrics", "--secure-port=0", "--v=4")
	log, err := cmd.CombinedOutput()
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("descheduler:\n%s", log)
		}
	})
	w.must(err)
	w.await("all pods are placed", func() bool { return w.placedOf("") == pods })
	placed := map[string]int{}
	for _, pod := range w.run("") {
		if !old[pod.UID] {
			placed[pod.Labels["app"]+" on "+pod.Spec.NodeName]++
		}
	}
	return placed
}

// kubectl runs kubectl as the administrator.
func (w *world) kubectl(args ...string) {
	w.Helper()
	_, err := w.Kubectl(w.ctx, args...)
	w.must(err)
}
