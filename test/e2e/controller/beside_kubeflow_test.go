//go:build e2e

package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/numalet/numalet/test/hollowcluster"
)

// kubeflowShape is the shape of each of the two nodes of the tests of Kubeflow. Each training pod
// has a GPU, and 4 exclusive CPUs of one NUMA node. A node has room for 3 such pods, because its
// NUMA nodes have 7 and 8 CPUs for pods.
var kubeflowShape = hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Model: "NVIDIA A100"}

// kubeflowLimits are the limits of the main container of each training pod.
const kubeflowLimits = `{cpu: "4", memory: 64Mi, nvidia.com/gpu: 1}`

// TestBesideKubeflow runs Kubeflow Trainer, JobSet (which Trainer needs) and the controller on one
// API server. The pods of a TrainJob must start together or not at all. If Trainer creates some
// pods of a TrainJob later than others, these later pods must not be in the gang of the others.
func TestBesideKubeflow(t *testing.T) {
	w := newWorld(t, 2, kubeflowShape)
	w.controllers("job-controller,garbage-collector-controller")
	w.besideProgram("jobset", "9543", "jobset.x-k8s.io", "")
	w.trainer()

	for _, name := range []string{"first", "second"} {
		w.apply(trainJob(name, "torch-distributed", 4, map[string]string{"node": gangMetadata(name, 4)}))
	}
	set := func(name string) string { return "jobset.sigs.k8s.io/jobset-name=" + name }
	w.inTurn(set("first"), set("second"), 4)
	for _, name := range []string{"first", "second"} {
		w.await("Trainer knows that "+name+" is complete", func() bool {
			out, err := w.Kubectl(w.ctx, "get", "trainjob", name, "-o", `jsonpath={.status.conditions[?(@.type=="Complete")].status}`)
			w.must(err)
			return out == "True"
		})
	}

	part := func(name, job string) string { return set(name) + ",jobset.sigs.k8s.io/replicatedjob-name=" + job }
	w.apply(trainJob("staged", "staged", 2, map[string]string{"node": gangMetadata("staged", 2)}))
	w.await("the initializer is placed", func() bool { return w.placedOf(part("staged", "dataset-initializer")) == 1 })
	if n := len(w.podsOf(part("staged", "node"))); n != 0 {
		t.Errorf("the TrainJob has %d training pods before its initializer has ended", n)
	}
	w.end(set("staged"))
	w.await("the training pods are placed", func() bool { return w.placedOf(part("staged", "node")) == 2 })
	w.apply(trainJob("stuck", "staged", 2, map[string]string{"dataset-initializer": gangMetadata("stuck", 3), "node": gangMetadata("stuck", 3)}))
	w.await("the initializer waits for the training pods", func() bool {
		pods := w.podsOf(part("stuck", "dataset-initializer"))
		return len(pods) == 1 && strings.Contains(said(&pods[0]), "its gang is incomplete: at least 2 more")
	})
}

// inTurn checks that two existing gangs run one after the other, because there is room only for one
// gang and for some pods of the other. No pod of the second gang may start before the first gang has
// ended. Each gang has the given number of pods, which the label selectors `first` and `second`
// match. When inTurn returns, both gangs have ended.
func (w *world) inTurn(first, second string, pods int) {
	w.Helper()
	w.await("all pods of one gang are placed", func() bool {
		if w.placedOf(second) == pods {
			first, second = second, first
		}
		return w.placedOf(first) == pods
	})
	w.await("the other gang waits for room", func() bool {
		waiting := 0
		for _, pod := range w.podsOf(second) {
			if strings.Contains(said(&pod), fmt.Sprintf("too few nodes have room for %d pods of", pods)) {
				waiting++
			}
		}
		return waiting == pods
	})
	if n := w.placedOf(second); n != 0 {
		w.Errorf("%d of the %d pods of a gang are placed", n, pods)
	}
	w.end(first)
	w.await("the other gang is placed", func() bool { return w.placedOf(second) == pods })
	w.end(second)
}

// gangMetadata is the metadata of pods of a gang with exclusive CPUs.
func gangMetadata(gang string, least int) string {
	return fmt.Sprintf(`{labels: {numalet.dev/gang: %s}, annotations: {numalet.dev/cpu-policy: single, numalet.dev/gang-min-available: "%d"}}`, gang, least)
}

// trainJob returns a TrainJob with the given number of training pods. The argument `metadata` has
// metadata for the pods of each replicated job of the runtime.
func trainJob(name, runtime string, nodes int, metadata map[string]string) string {
	var jobs []string
	for job, of := range metadata {
		jobs = append(jobs, fmt.Sprintf("{name: %s, template: {spec: {template: {metadata: %s}}}}", job, of))
	}
	return fmt.Sprintf(`
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {namespace: default, name: %s}
spec:
  runtimeRef: {name: %s}
  trainer: {numNodes: %d, resourcesPerNode: {limits: %s}}
  runtimePatches:
    - manager: example.com/test
      trainingRuntimeSpec: {template: {spec: {replicatedJobs: [%s]}}}
`, name, runtime, nodes, kubeflowLimits, strings.Join(jobs, ", "))
}

// stagedRuntime is a runtime whose training pods are created when its initializer has ended. The
// annotation with the CPU policy is in the runtime.
const stagedRuntime = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: staged, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: dataset-initializer
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
            spec:
              template:
                metadata: {annotations: {numalet.dev/cpu-policy: single}}
                spec: {containers: [{name: dataset-initializer, image: localhost/busybox, resources: {limits: {cpu: 1, memory: 64Mi}}}]}
        - name: node
          dependsOn: [{name: dataset-initializer, status: Complete}]
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                metadata: {annotations: {numalet.dev/cpu-policy: single}}
                spec: {containers: [{name: node, image: localhost/busybox}]}
`

// trainer installs the custom resource definitions and the webhooks of Trainer, and starts Trainer
// with the rights of the administrator. It also installs Trainer's runtime for PyTorch, and a
// runtime of the test.
func (w *world) trainer() {
	w.Helper()
	const port = "9743"
	source, dir := filepath.Join(*besideDir, "trainer/manifests/base"), w.File("trainer")
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-k", filepath.Join(source, "crds"))
	w.must(err)
	w.await("the API server serves Trainer's resources", func() bool { return w.resourcesOf("trainer.kubeflow.org") == 3 })
	authority := w.certificate(filepath.Join(dir, "k8s-webhook-server/serving-certs")) // in the directory for temporary files
	config := `
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "0"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: ` + port + `}
certManagement: {enable: false}
`
	w.must(os.WriteFile(w.File("trainer.yaml"), []byte(config), 0o600))
	w.keep([]string{"KUBECONFIG=" + w.Kubeconfig, "TMPDIR=" + dir}, "trainer", filepath.Join(*besideDir, "bin/trainer"), "--config="+w.File("trainer.yaml"))
	w.must(w.kubectlApply(w.webhooks("trainer", "manifests/base/webhook/manifests.yaml", port, authority)))
	w.retry("the runtimes are created", func() error { return w.kubectlApply(stagedRuntime) })
	_, err = w.Kubectl(w.ctx, "apply", "-f", filepath.Join(source, "runtimes/torch_distributed.yaml"))
	w.must(err)
}
