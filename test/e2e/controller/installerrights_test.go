//go:build e2e

package controller

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// TestEveryPermissionOfTheInstallerIsNeeded starts numalet-containerd on a node without systemd. It
// cannot report that on the Node without its permission.
func TestEveryPermissionOfTheInstallerIsNeeded(t *testing.T) {
	w := newPlane(t, 1, hollowcluster.Shape{NUMA: 1, CPUs: 4})
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-f", repository+"/deploy/containerd/rbac.yaml")
	w.must(err)
	own := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "numalet-system", Name: "installer"},
		Spec: corev1.PodSpec{NodeName: "node-00000", ServiceAccountName: "numalet-containerd", Containers: []corev1.Container{{Name: "containerd", Image: "none"}}}}
	own, err = w.api.CoreV1().Pods(own.Namespace).Create(w.ctx, own, metav1.CreateOptions{})
	w.must(err)
	lacking := w.withdraw(rolesOf(t.Name()), manifests...)
	lacking.elsewhere(permission{"", "events", "patch"}, "TestEventsCountEquals of internal/agent/nodeapi")
	lacking.elsewhere(permission{"", "pods", "list"}, "TestInstaller of test/e2e, on a node with containerd")
	account, err := w.AccountOf(w.ctx, own)
	w.must(err)
	proxy, kubeconfig, err := w.Refusals(account, lacking.refused)
	w.must(err)
	t.Cleanup(proxy.Close)

	root := t.TempDir()
	w.must(os.MkdirAll(filepath.Join(root, "etc/containerd"), 0o755))
	file := w.File("installer.log")
	lacking.logs(file)
	installer, err := w.Start("installer", *installerProgram, "--kubeconfig="+kubeconfig, "--node-name=node-00000", "--host-root="+root, "--containerd-unit=none.service", "--health-addr=127.0.0.1:0")
	w.must(err)
	t.Cleanup(func() { _ = installer.Stop(10 * time.Second); w.show(file) })
	w.await("nothing is missing", lacking.done)
	lacking.check()
}
