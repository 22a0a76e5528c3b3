//go:build e2e

package controller

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/numalet/numalet/test/hollowcluster"
)

// TestEveryPermissionOfTheInstallerIsNeeded starts numalet-containerd, which configures containerd,
// on a node without systemd and without the permission to create events. It checks that the program
// then cannot create the event that says that systemd is missing, and that it logs the missing
// permission.
func TestEveryPermissionOfTheInstallerIsNeeded(t *testing.T) {
	w := newPlane(t, 1, hollowcluster.Shape{NUMA: 1, CPUs: 4})
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-f", repository+"/deploy/containerd/rbac.yaml")
	w.must(err)
	lacking, kubeconfig := w.withdrawOnNode("numalet-containerd")
	lacking.elsewhere(permission{"", "pods", "list"}, "TestInstaller of test/e2e, on a node with containerd")

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
