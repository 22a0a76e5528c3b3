//go:build e2e

package controller

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// The nodes of TestBesideGPUOperator. Node feature discovery has found NVIDIA's GPUs on the first
// two. The second one also has Numalet's label for nodes with GPUs.
const (
	gpuFound    = "node-00000"
	gpuLabelled = "node-00001"
	gpuNone     = "node-00002"
)

// The DaemonSets whose pods TestBesideGPUOperator looks for. The images of the last two are the same.
const (
	setNVML      = "numalet-system/numalet-nvml"
	setMIG       = "gpu-operator/nvidia-mig-manager"
	setPlugin    = "gpu-operator/nvidia-device-plugin-daemonset"
	setDiscovery = "gpu-operator/gpu-feature-discovery"
)

// TestBesideGPUOperator runs NVIDIA's GPU Operator and the DaemonSet numalet-nvml on one API server.
// The DaemonSet controller of kube-controller-manager creates the pods of DaemonSets. No pod really
// runs. So the test sets labels that programs in these pods would set: those of GPU feature
// discovery, and those with which the driver manager and the MIG manager pause a node. If the
// device plugin is disabled in the operator's chart, the operator must remove it. The pods of
// numalet-nvml must leave the nodes that are paused.
func TestBesideGPUOperator(t *testing.T) {
	w := newPlane(t, 3, hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Model: "NVIDIA A100"})
	w.controllers("daemonset-controller,serviceaccount-controller,garbage-collector-controller")
	_, err := w.Kubectl(w.ctx, "annotate", "nodes", "--all", "volumes.kubernetes.io/controller-managed-attach-detach=true") // as a kubelet does; the operator panics at a node without annotations
	w.must(err)
	for _, node := range []string{gpuFound, gpuLabelled} {
		const feature = "feature.node.kubernetes.io/"
		w.label(node, feature+"pci-10de.present=true", feature+"kernel-version.full=6.8.0-83-generic",
			feature+"system-os_release.ID=ubuntu", feature+"system-os_release.VERSION_ID=24.04", "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB")
	}
	w.label(gpuLabelled, "numalet.dev/gpu=true")
	_, err = w.Kubectl(w.ctx, "apply", "-f", repository+"/deploy/gpu/nvml.yaml")
	w.must(err)
	w.awaitNodes(setNVML, gpuFound, gpuLabelled)

	// With its defaults, the operator starts its device plugin. This shows that the checks further
	// below would find the plugin.
	w.gpuOperator()
	for _, set := range []string{setPlugin, setDiscovery, setMIG, setNVML} {
		w.awaitNodes(set, gpuFound, gpuLabelled)
	}
	w.await("numalet doctor warns of the plugin", func() bool { return strings.HasPrefix(w.doctorOnPlugin(), "WARNING") })

	w.gpuOperatorChart("--set=devicePlugin.enabled=false")
	w.await("the operator has removed its device plugin", func() bool { return w.gone(setPlugin) })
	w.awaitNodes(setPlugin)
	for _, set := range []string{setDiscovery, setMIG, setNVML} {
		w.awaitNodes(set, gpuFound, gpuLabelled)
	}
	if said := w.doctorOnPlugin(); !strings.HasPrefix(said, "OK") {
		t.Errorf("without the operator's device plugin, numalet doctor says: %s", said)
	}

	for _, pause := range []struct{ label, value, resume string }{
		{"nvidia.com/gpu.deploy.device-plugin", "paused-for-mig-change", "=true"},
		{"nvidia.com/gpu.deploy.device-plugin", "paused-for-driver-upgrade", "=true"},
		{"nvidia.com/gpu.deploy.client", "paused-for-mig-change", "-"},
		{"nvidia.com/gpu.deploy.client", "paused-for-driver-upgrade", "-"},
		{"numalet.dev/gpu", "false", "-"},
	} {
		// The operator adds a label that is missing. When it has done so, it has also seen the pause.
		const missing = "nvidia.com/gpu.deploy.dcgm-exporter"
		w.label(gpuFound, pause.label+"="+pause.value, missing+"-")
		w.await("the operator has updated the labels of the node", func() bool { return w.labels(gpuFound)[missing] == "true" })
		w.awaitNodes(setNVML, gpuLabelled)
		if got := w.labels(gpuFound)[pause.label]; got != pause.value {
			t.Errorf("the operator has changed the label %s from %s to %q", pause.label, pause.value, got)
		}
		w.label(gpuFound, pause.label+pause.resume)
		w.awaitNodes(setNVML, gpuFound, gpuLabelled)
	}

	if got := w.labels(gpuFound); got["nvidia.com/gpu.present"] != "true" || got["nvidia.com/gpu.deploy.device-plugin"] != "true" {
		t.Errorf("the operator has not labelled %s as a node with GPUs and a device plugin: %v", gpuFound, got)
	}
	for label := range w.labels(gpuNone) {
		if strings.HasPrefix(label, "nvidia.com/") {
			t.Errorf("node %s has no GPUs, but the label %s", gpuNone, label)
		}
	}
}

// gpuOperator installs the custom resource definitions and the chart of the GPU Operator, and starts
// the operator with the rights of its service account. The operator reads manifests from fixed paths,
// so it gets a root directory of its own.
func (w *world) gpuOperator() {
	w.Helper()
	source := filepath.Join(*besideDir, "gpu-operator")
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-f", filepath.Join(source, "deployments/gpu-operator/crds"))
	w.must(err)
	_, err = w.Kubectl(w.ctx, "create", "namespace", "gpu-operator")
	w.must(err)
	w.gpuOperatorChart()
	root := w.ownRoot("gpu-operator", "gpu-operator", "gpu-operator")
	for from, to := range map[string]string{"assets": "opt/gpu-operator", "manifests": "opt/gpu-operator/manifests"} {
		w.must(os.CopyFS(filepath.Join(root, to), os.DirFS(filepath.Join(source, from))))
	}
	w.must(os.Mkdir(filepath.Join(root, "host-etc"), 0o700))
	w.must(os.WriteFile(filepath.Join(root, "host-etc/os-release"), []byte("ID=ubuntu\nVERSION_ID=\"24.04\"\n"), 0o600))
	w.keep([]string{"KUBECONFIG=/kubeconfig", "OPERATOR_NAMESPACE=gpu-operator"}, "operator", "chroot", root, "/gpu-operator",
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
}

// gpuOperatorChart applies the chart of the GPU Operator without node feature discovery. The test
// itself sets the labels of node feature discovery.
func (w *world) gpuOperatorChart(settings ...string) {
	w.Helper()
	args := append([]string{"template", "gpu-operator", filepath.Join(*besideDir, "gpu-operator/deployments/gpu-operator"),
		"--namespace=gpu-operator", "--no-hooks", "--set=nfd.enabled=false"}, settings...)
	manifest, err := exec.CommandContext(w.ctx, repository+"/build/helm", args...).Output()
	w.must(err)
	file := w.File("gpu-operator.yaml")
	w.must(os.WriteFile(file, manifest, 0o600))
	w.retry("the chart of the GPU Operator is applied", func() error {
		_, err := w.Kubectl(w.ctx, "apply", "--namespace=gpu-operator", "-f", file)
		return err
	})
}

// label changes labels of a node. An argument is NAME=VALUE, or NAME- for a label to remove.
func (w *world) label(node string, labels ...string) {
	w.Helper()
	_, err := w.Kubectl(w.ctx, append([]string{"label", "--overwrite", "node", node}, labels...)...)
	w.must(err)
}

func (w *world) labels(node string) map[string]string {
	w.Helper()
	got, err := w.api.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	w.must(err)
	return got.Labels
}

// awaitNodes waits until a DaemonSet has pods for the given nodes and for no others. The argument
// `set` is NAMESPACE/NAME.
func (w *world) awaitNodes(set string, nodes ...string) {
	w.Helper()
	w.await("the nodes of "+set+" are ["+strings.Join(nodes, " ")+"]", func() bool { return slices.Equal(w.nodesOf(set), nodes) })
}

// nodesOf returns the nodes of the pods of a DaemonSet. It binds new pods, as kube-scheduler does, and
// removes the deleted ones, as a kubelet does: the DaemonSet controller waits for both.
func (w *world) nodesOf(set string) (nodes []string) {
	w.Helper()
	namespace, name, _ := strings.Cut(set, "/")
	pods := w.api.CoreV1().Pods(namespace)
	list, err := pods.List(w.ctx, metav1.ListOptions{})
	w.must(err)
	for _, pod := range list.Items {
		owner := metav1.GetControllerOf(&pod)
		switch {
		case owner == nil || owner.Name != name:
			continue
		case pod.DeletionTimestamp != nil:
			err = pods.Delete(w.ctx, pod.Name, *metav1.NewDeleteOptions(0))
		case pod.Spec.NodeName != "":
			nodes = append(nodes, pod.Spec.NodeName)
		default:
			terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
			err = pods.Bind(w.ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name},
				Target:     corev1.ObjectReference{Kind: "Node", Name: terms[0].MatchFields[0].Values[0]},
			}, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			w.Fatal(err)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// gone reports whether a DaemonSet does not exist. The argument `set` is
// NAMESPACE/NAME.
func (w *world) gone(set string) bool {
	w.Helper()
	namespace, name, _ := strings.Cut(set, "/")
	_, err := w.api.AppsV1().DaemonSets(namespace).Get(w.ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.Fatal(err)
	}
	return err != nil
}

// doctorOnPlugin returns what `numalet doctor` says about other device plugins.
func (w *world) doctorOnPlugin() string {
	w.Helper()
	said := user{w, w.Kubeconfig}.run(*tool, "doctor")
	for line := range strings.Lines(said) {
		if strings.Contains(line, " nvidia-plugin") {
			return line
		}
	}
	w.Fatalf("numalet doctor says nothing of nvidia-plugin:\n%s", said)
	return ""
}
