//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestMigrateFromKoordinator runs Koordinator's koordlet and koord-scheduler, which test/koordinator
// builds. Koordinator gives one pod CPUs of its own, and takes CPUs from pods of all QoS classes.
// All these pods stay on the node when the node is drained. Then the test migrates the node with
// the steps in docs/tasks/other-projects.md, except for the reboot. A new pod must get exclusive
// CPUs of Numalet, and the pods that stayed must get all other CPUs.
func TestMigrateFromKoordinator(t *testing.T) {
	needSystemd(t)
	ctx := start(t, 30*time.Minute, "after", "shared")
	sendAway(ctx, t)
	must(t, requireAgent(ctx, false))
	t.Cleanup(func() { must(t, requireAgent(context.Background(), true)) })
	all := cpuset.Range(0, 15)

	// The node under Koordinator
	guaranteed := e2eutil.Pod("guaranteed", "", e2eutil.Container{Name: "c", CPU: "100m"})
	burstable := e2eutil.Pod("burstable", "", e2eutil.Container{Name: "c", CPU: "100m"})
	burstable.Spec.Containers[0].Resources.Limits = nil
	besteffort := e2eutil.Pod("besteffort", "", e2eutil.Container{Name: "c", CPU: "100m"})
	besteffort.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	for _, pod := range []*corev1.Pod{guaranteed, burstable, besteffort} {
		createDaemon(ctx, t, pod)
		awaitCPUs(ctx, t, pod.Name, "c", all)
	}
	installKoordinator(ctx, t)
	pinned := e2eutil.Pod("pinned", "", e2eutil.Container{Name: "c", CPU: "2"})
	pinned.Labels = map[string]string{"koordinator.sh/qosClass": "LSR"}
	pinned.Spec.SchedulerName = "koord-scheduler"
	createDaemon(ctx, t, pinned)
	own := ofKoordinator(ctx, t, "pinned")
	if own.Len() != 2 {
		t.Fatalf("koord-scheduler gave the pod the CPUs %v, want two", own)
	}
	awaitCPUs(ctx, t, "pinned", "c", own)
	awaitCPUs(ctx, t, "guaranteed", "c", all.Minus(own))
	awaitCPUs(ctx, t, "burstable", "c", all.Minus(own))
	awaitFewCPUs(ctx, t, "besteffort")

	// The steps of the page
	kubectl(ctx, t, "patch", "--namespace=koordinator-system", "daemonset/koordlet", "--patch", offMigratedNodes)
	kubectl(ctx, t, "rollout", "status", "--namespace=koordinator-system", "daemonset/koordlet", "--timeout=5m")
	drain(ctx, t)
	kubectl(ctx, t, "label", "node", cluster.Node(), "example.com/koordinator=no")
	_, err := cluster.Shell(ctx, "while pidof koordlet >/dev/null; do sleep 0.2; done")
	must(t, err)
	kubectl(ctx, t, "delete", "noderesourcetopologies.topology.node.k8s.io", cluster.Node())
	for _, name := range []string{"guaranteed", "burstable", "besteffort", "pinned"} {
		if kept := currentCPUs(ctx, t, name, "c"); kept.Equal(all) {
			t.Errorf("koordlet gave the %s pod all CPUs back when it ended, so this test does not show that the agent does", name)
		}
	}
	must(t, selectNodes(ctx, "null"))
	_, err = cluster.Shell(ctx, "/usr/local/bin/probe ready")
	must(t, err)
	kubectl(ctx, t, "uncordon", cluster.Node())

	// The node under Numalet
	create(ctx, t, e2eutil.Pod("after", "spread", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	exclusive := born(ctx, t, "after", "c")
	if !slices.Equal(counts(exclusive), []int{1, 1, 1, 1}) {
		t.Errorf("the pod was born on %v, want one CPU of each NUMA node", exclusive)
	}
	sharers := []string{"shared", "guaranteed", "burstable", "besteffort", "pinned"}
	for _, name := range sharers {
		awaitCPUs(ctx, t, name, "c", all.Minus(exclusive))
	}
	checkReload(ctx, t)
	must(t, cluster.Delete(ctx, "after"))
	for _, name := range sharers {
		awaitCPUs(ctx, t, name, "c", all)
	}
	checkReload(ctx, t)
	for _, line := range cpusets(ctx, t) { // also of the sandboxes, and of Numalet's own pods
		if !strings.HasSuffix(line, " 0-15") {
			t.Errorf("a container may not use all CPUs: %s", line)
		}
	}
	checkLives(ctx, t)
}

// offMigratedNodes is the patch in docs/tasks/other-projects.md that keeps koordlet off the nodes with
// the label example.com/koordinator=no.
const offMigratedNodes = `{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":` +
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"example.com/koordinator","operator":"NotIn","values":["no"]}]}]}}}}}}}`

// createDaemon creates a DaemonSet with the given pod as its template. The DaemonSet's pod stays on
// the node when the node is drained. The records of its containers have the name of the given pod.
func createDaemon(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	t.Helper()
	selector := map[string]string{"daemon": pod.Name}
	pod.Labels = labels.Merge(pod.Labels, selector)
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: cluster.Node()}
	sets := cluster.API.AppsV1().DaemonSets(cluster.Namespace)
	_, err := sets.Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, sets.Delete(context.Background(), pod.Name, metav1.DeleteOptions{})) })
}

// installKoordinator installs koordlet on the node, and starts koord-scheduler on this host.
func installKoordinator(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		must(t, cluster.Script(context.Background(), "koordinator/remove"))
		kubectl(context.Background(), t, "label", "node", cluster.Node(), "example.com/koordinator-")
	})
	must(t, cluster.Script(ctx, "koordinator/install"))
	const built = "../../build/koordinator/"
	scheduler := exec.CommandContext(ctx, built+"koord-scheduler", "--config", built+"scheduler.yaml", "--secure-port=0", "--port=0")
	scheduler.Stderr = t.Output()
	must(t, scheduler.Start())
	t.Cleanup(func() {
		_ = scheduler.Process.Kill() // it may have ended with ctx
		_ = scheduler.Wait()         // says that it was killed
	})
}

// ofKoordinator waits until the pod of a DaemonSet runs, and returns the CPUs that koord-scheduler has
// assigned to it.
func ofKoordinator(ctx context.Context, t *testing.T, daemon string) cpuset.Set {
	t.Helper()
	newest(ctx, t, daemon, "c")
	pods, err := cluster.API.CoreV1().Pods(cluster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "daemon=" + daemon})
	must(t, err)
	if len(pods.Items) != 1 {
		t.Fatalf("DaemonSet %s has %d pods, want one", daemon, len(pods.Items))
	}
	var status struct{ CPUSet string }
	must(t, json.Unmarshal([]byte(pods.Items[0].Annotations["scheduling.koordinator.sh/resource-status"]), &status))
	cpus, err := cpuset.Parse(status.CPUSet)
	must(t, err)
	return cpus
}

// awaitFewCPUs waits until a container may use at most half of the CPUs.
func awaitFewCPUs(ctx context.Context, t *testing.T, pod string) {
	t.Helper()
	awaitAllowed(ctx, t, pod, "c", "at most 8 CPUs", func(got cpuset.Set) bool { return got.Len() <= 8 })
}
