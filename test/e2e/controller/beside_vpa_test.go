//go:build e2e

package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/test/hollowcluster"
)

// vpaCase is a Deployment with a VerticalPodAutoscaler. The Deployment has two pods, each with 2
// exclusive CPUs and 64Mi of memory. The VerticalPodAutoscaler would like to give each pod 2.686
// CPUs and vpaMemory.
type vpaCase struct {
	name, mode string
	annotation string // of the VerticalPodAutoscaler
	recommend  string // the name of a recommender other than the default one
	policy     string // fields of its only container policy
	want       string // what becomes of the pods; see the method vpaOutcome
}

const (
	vpaMemory  = "272061154"
	vpaWhole   = `vpa-post-processor.kubernetes.io/main_integerCPU: "true"`
	onlyMemory = "controlledResources: [memory]"
)

var vpaCases = []vpaCase{
	{name: "fraction", mode: "Recreate", want: "refused"},
	{name: "fraction-in-place", mode: "InPlaceOrRecreate", want: "refused"},
	{name: "memory", mode: "Recreate", policy: onlyMemory, want: "new pods, 2 CPUs, " + vpaMemory},
	{name: "memory-in-place", mode: "InPlaceOrRecreate", policy: onlyMemory, want: "old pods, 2 CPUs, " + vpaMemory},
	{name: "bounds", mode: "Recreate", policy: "minAllowed: {cpu: 4}, maxAllowed: {cpu: 4}", want: "new pods, 4 CPUs, " + vpaMemory},
	{name: "annotated", mode: "Recreate", annotation: vpaWhole, want: "new pods, 3 CPUs, " + vpaMemory},
	{name: "rounded", mode: "Recreate", recommend: "whole", want: "new pods, 3 CPUs, " + vpaMemory},
	{name: "rounded-in-place", mode: "InPlaceOrRecreate", recommend: "whole", want: "old pods, 3 CPUs, " + vpaMemory},
	{name: "no-updates", mode: "Off", want: "old pods, 2 CPUs, 64Mi"}, // the last case, so that the updater has had time to change the pods by mistake
}

// TestBesideVPA runs the Vertical Pod Autoscaler with the controller on one API server. There is no
// metrics server: the recommender reads from VerticalPodAutoscalerCheckpoints how much the
// containers have used. No pod really runs, because there is no kubelet. So the test itself sets
// the phases of pods.
func TestBesideVPA(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 4, CPUs: 16})
	w.controllers("deployment-controller,replicaset-controller")
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-f", filepath.Join(*besideDir, "vpa-updater/deploy/vpa-v1-crd-gen.yaml"))
	w.must(err)
	old := map[types.UID]bool{}
	for _, c := range vpaCases {
		w.apply(besideDeployment{name: c.name, replicas: 2, limits: "cpu: 2, memory: 64Mi"}.manifest())
		w.retry("VerticalPodAutoscalers are created", func() error { return w.kubectlApply(c.objects()) })
	}
	for _, c := range vpaCases {
		w.await("the pods of "+c.name+" are placed", func() bool { return w.placedOf("app="+c.name) == 2 })
		for _, pod := range w.run("app=" + c.name) {
			old[pod.UID] = true
		}
	}
	log := w.vpa()
	for _, c := range vpaCases {
		var got string
		for deadline := time.Now().Add(patience); got != c.want && time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
			got = w.vpaOutcome(c.name, old)
		}
		if got != c.want {
			t.Errorf("the outcome of %s: %s, want %s", c.name, got, c.want)
		}
	}
	w.await("the API server has refused a resize to a fraction of a CPU", func() bool {
		text, err := os.ReadFile(log)
		w.must(err)
		return strings.Contains(string(text), "cannot change between exclusive and shared CPUs in place")
	})
}

// vpaOutcome describes the two pods of a Deployment. If they are alike, the result says whether
// they are in the map `old`, and how many CPUs and how much memory each has. Otherwise the result
// is "refused" if the API server has refused to create pods because of their CPUs. At its start,
// vpaOutcome calls the method `run` for the pods.
func (w *world) vpaOutcome(name string, old map[types.UID]bool) string {
	w.Helper()
	outcomes := map[string]int{}
	for _, pod := range w.run("app=" + name) {
		age := map[bool]string{true: "old", false: "new"}[old[pod.UID]]
		limits := pod.Spec.Containers[0].Resources.Limits
		outcomes[fmt.Sprintf("%s pods, %s CPUs, %s", age, limits.Cpu(), limits.Memory())]++
	}
	for outcome, pods := range outcomes {
		if pods == 2 {
			return outcome
		}
	}
	events, err := w.api.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
	w.must(err)
	for _, e := range events.Items {
		if strings.HasPrefix(e.InvolvedObject.Name, name+"-") && strings.Contains(e.Message, "no container has an integer cpu limit") {
			return "refused"
		}
	}
	return fmt.Sprint(outcomes)
}

// objects returns the VerticalPodAutoscaler of a case, and a VerticalPodAutoscalerCheckpoint. The
// checkpoint has the usage of 8 days: the bucket 51 of cpuHistogram is for 2.21 to 2.34 CPUs, and
// the bucket 15 of memoryHistogram for 216 to 237 MB.
func (c vpaCase) objects() string {
	recommenders := ""
	if c.recommend != "" {
		recommenders = "recommenders: [{name: " + c.recommend + "}], "
	}
	now := time.Now().UTC()
	begin, end := now.Add(-8*24*time.Hour).Format(time.RFC3339), now.Format(time.RFC3339)
	return fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {namespace: default, name: %[1]s, annotations: {%[2]s}}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}, %[3]supdatePolicy: {updateMode: %[4]q}, resourcePolicy: {containerPolicies: [{containerName: "*", controlledValues: RequestsAndLimits, %[5]s}]}}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {namespace: default, name: %[1]s-main}
spec: {vpaObjectName: %[1]s, containerName: main}
`, c.name, c.annotation, recommenders, c.mode, c.policy) + fmt.Sprintf(`status:
  version: v3
  firstSampleStart: %[1]s
  lastSampleStart: %[2]s
  lastUpdateTime: %[2]s
  totalSamplesCount: 11520
  cpuHistogram: {referenceTimestamp: %[2]s, totalWeight: 10000, bucketWeights: {"51": 10000}}
  memoryHistogram: {referenceTimestamp: %[2]s, totalWeight: 8, bucketWeights: {"15": 10000}}
`, begin, end)
}

// vpa starts the programs of the Vertical Pod Autoscaler with the rights of the administrator, and
// returns the log file of the updater. There is a second recommender with the name "whole", which
// rounds CPUs up to whole numbers.
func (w *world) vpa() string {
	w.Helper()
	dir := w.File("vpa")
	w.certificate(dir)
	start := func(name, program string, args ...string) *hollowcluster.Process {
		args = append(args, "--kubeconfig="+w.Kubeconfig, "--address=127.0.0.1:0")
		return w.keep(nil, name, filepath.Join(*besideDir, "bin", program), args...)
	}
	start("vpa-recommender", "vpa-recommender", "--recommender-interval=2s", "--cpu-integer-post-processor-enabled")
	start("vpa-recommender-whole", "vpa-recommender", "--recommender-interval=2s", "--recommender-name=whole", "--round-cpu-millicores=1000")
	start("vpa-admission", "vpa-admission", "--port=9643", "--register-by-url", "--webhook-address=https://127.0.0.1", "--webhook-port=9643",
		"--client-ca-file="+filepath.Join(dir, "tls.crt"), "--tls-cert-file="+filepath.Join(dir, "tls.crt"), "--tls-private-key="+filepath.Join(dir, "tls.key"))
	return start("vpa-updater", "vpa-updater", "--updater-interval=2s").Log
}

// besideDeployment is a Deployment of pods with exclusive CPUs. Its pods have the label app=NAME.
// Their grace period is 0, because no kubelet would end them.
type besideDeployment struct {
	name        string
	replicas    int
	limits      string // of the only container
	annotations string // additional annotations of the pods
	spec        string // additional fields of the pods' spec
}

func (d besideDeployment) manifest() string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: default, name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {numalet.dev/cpu-policy: single, %[4]s}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: localhost/busybox, resources: {limits: {%[3]s}}}], %[5]s}
`, d.name, d.replicas, d.limits, d.annotations, d.spec)
}

// The method `run` sets the phase of the placed pods that match a label selector to Running, as a
// kubelet does when pods run. It returns these pods.
func (w *world) run(selector string) (placed []corev1.Pod) {
	w.Helper()
	for _, pod := range w.podsOf(selector) {
		if pod.Spec.NodeName == "" {
			continue
		}
		placed = append(placed, pod)
		if pod.Status.Phase == corev1.PodRunning {
			continue
		}
		status := fmt.Sprintf(`{"status": {"phase": "Running", "startTime": %q, "conditions": [{"type": "Ready", "status": "True"}]}}`, time.Now().UTC().Format(time.RFC3339))
		_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, pod.Name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) { // evicted meanwhile
			w.Fatal(err)
		}
	}
	return placed
}
