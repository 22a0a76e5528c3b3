//go:build e2e

package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// initTemplate is the template of Kubeflow's Training Operator for the init container of workers.
// It leaves out the requests of the original, which are lower than the limits.
const initTemplate = `
- name: init-pytorch
  image: {{.InitContainerImage}}
  resources: {limits: {cpu: 100m, memory: 20Mi}}
  command: [sh, -c, "until nslookup {{.MasterAddr}}; do sleep 2; done"]
`

// TestBesideKubeflowPyTorchJob runs Kubeflow's Training Operator, the predecessor of Trainer, with the
// controller on one API server. The operator adds an init container to the workers of a PyTorchJob.
// With the operator's defaults, the init container makes these pods Burstable, so the API server
// must refuse the pods. With another template for the init container, the pods of a PyTorchJob must
// start together or not at all.
func TestBesideKubeflowPyTorchJob(t *testing.T) {
	w := newWorld(t, 2, kubeflowShape)
	root := w.trainingOperatorManifests()
	operator := w.trainingOperator(root)
	w.retry("PyTorchJobs are created", func() error { return w.kubectlApply(pyTorchJob("first")) })
	w.await("the API server has refused a worker", func() bool {
		events, err := w.api.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=PyTorchJob"})
		w.must(err)
		for _, e := range events.Items {
			if strings.Contains(e.Message, "exclusive CPUs need a pod of class Guaranteed") && strings.Contains(e.Message, "init-pytorch") {
				return true
			}
		}
		return false
	})
	w.must(operator.Stop(10 * time.Second))

	w.must(os.MkdirAll(filepath.Join(root, "etc/config"), 0o700))
	w.must(os.WriteFile(filepath.Join(root, "etc/config/initContainer.yaml"), []byte(initTemplate), 0o600))
	w.trainingOperator(root)
	w.retry("the second PyTorchJob is created", func() error { return w.kubectlApply(pyTorchJob("second")) })
	const job = "training.kubeflow.org/job-name="
	w.inTurn(job+"first", job+"second", 4)
}

// pyTorchJob returns a PyTorchJob with a master and three workers, which are a gang.
func pyTorchJob(name string) string {
	template := fmt.Sprintf(`{metadata: %s, spec: {containers: [{name: pytorch, image: localhost/busybox, resources: {limits: %s}}]}}`, gangMetadata(name, 4), kubeflowLimits)
	return fmt.Sprintf(`
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {namespace: default, name: %s}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: %[2]s}
    Worker: {replicas: 3, template: %[2]s}
`, name, template)
}

// trainingOperatorPort is the port of the operator's webhooks.
const trainingOperatorPort = "9843"

// trainingOperatorManifests applies the manifests of the Training Operator, and returns a root
// directory for the operator, which reads certificates from a fixed path. No pod runs the operator, so
// its Service leads to a port of this machine.
func (w *world) trainingOperatorManifests() string {
	w.Helper()
	manifests, err := w.Kubectl(w.ctx, "kustomize", filepath.Join(*besideDir, "training-operator/manifests/overlays/standalone"))
	w.must(err)
	manifests = strings.NewReplacer(
		"      path: /validate", "      port: "+trainingOperatorPort+"\n      path: /validate",
		"  type: ClusterIP", "  type: ExternalName\n  externalName: localhost",
	).Replace(manifests)
	file := w.File("training-operator.yaml")
	w.must(os.WriteFile(file, []byte(manifests), 0o600))
	_, err = w.Kubectl(w.ctx, "apply", "--server-side", "-f", file)
	w.must(err)
	w.await("the API server serves the operator's resources", func() bool { return w.resourcesOf("kubeflow.org") == 6 })
	return w.ownRoot("training-operator", "kubeflow", "training-operator")
}

// trainingOperator starts the Training Operator with the rights of its service account. The operator
// writes certificates into a Secret, and the test copies them into the operator's root directory, as a
// kubelet does.
func (w *world) trainingOperator(root string) *hollowcluster.Process {
	w.Helper()
	operator := w.keep([]string{"KUBECONFIG=/kubeconfig"}, "operator", "chroot", root, "/training-operator", "--enable-scheme=pytorchjob",
		"--webhook-server-port="+trainingOperatorPort, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	dir := filepath.Join(root, "tmp/k8s-webhook-server/serving-certs")
	w.must(os.MkdirAll(dir, 0o700))
	w.await("the operator has written its certificates", func() bool {
		secret, err := w.api.CoreV1().Secrets("kubeflow").Get(w.ctx, "training-operator-webhook-cert", metav1.GetOptions{})
		w.must(err)
		for name, content := range secret.Data {
			w.must(os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		return len(secret.Data["tls.crt"]) > 0
	})
	return operator
}
