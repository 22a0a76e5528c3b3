//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestUninstall uninstalls Numalet with the steps in docs/tasks/administer.md. It checks that
// running pods continue to run. Tenants and GPU groups must remain until their custom resource
// definitions are deleted. After that, nothing of Numalet may remain on the node or in the cluster.
// TestUninstall must be the last test. `make cluster` installs Numalet again.
func TestUninstall(t *testing.T) {
	ctx := start(t, 8*time.Minute, "held", "stays", "after")
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("stays", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	stays := born(ctx, t, "stays", "c")

	keep(ctx, t)
	setEnv(ctx, t, "NUMALET_EXCLUSIVE_CPUS=false")
	awaitNode(ctx, t, nothingPublished)
	must(t, cluster.Delete(ctx, "held"))
	_, err := cluster.Shell(ctx, "rm /etc/containerd/conf.d/numalet.toml && kill $(pidof containerd)")
	must(t, err)
	uninstallChart(ctx, t)
	numalet(ctx, t, "get", "tenant/kept", "gpugroup/kept")
	numalet(ctx, t, "delete", "--wait", "namespace/"+system)
	numalet(ctx, t, "delete", "--wait", "-k", "../../deploy/crds")
	_, err = cluster.Shell(ctx, "rm -r /var/lib/numalet && rm -rf /run/numalet")
	must(t, err)

	awaitCPUs(ctx, t, "stays", "c", stays)
	create(ctx, t, e2eutil.Pod("after", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	awaitCPUs(ctx, t, "after", "c", cpuset.Range(0, 15))
	if left := leftovers(ctx, t); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

func uninstallChart(ctx context.Context, t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(ctx, "../../build/helm", "uninstall", "numalet", "--namespace", system, "--wait").CombinedOutput()
	if err != nil {
		t.Fatalf("uninstall the chart: %v: %s", err, out)
	}
}

// keep creates a Tenant and a GPUGroup, which must still exist after the chart is uninstalled.
func keep(ctx context.Context, t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "kubectl", "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(`
apiVersion: numalet.dev/v1alpha1
kind: Tenant
metadata: {name: kept}
---
apiVersion: numalet.dev/v1alpha1
kind: GPUGroup
metadata: {name: kept}
spec: {tenants: [kept], nodes: [{name: ` + cluster.Node() + `, gpus: ["0"]}]}
`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("create a Tenant and a group: %v: %s", err, out)
	}
}

// leftovers lists what remains of Numalet: files in the directories that Numalet uses on the node,
// processes on the node, and cluster-scoped objects whose names contain numalet.
func leftovers(ctx context.Context, t *testing.T) string {
	t.Helper()
	found, err := cluster.Shell(ctx, "find /etc /var/lib/kubelet/device-plugins /var/run/nri /run -xdev -name '*numalet*'; pidof numalet-agent numalet-deviceplugin; true")
	must(t, err)
	kinds := "namespaces,clusterroles,clusterrolebindings,priorityclasses,customresourcedefinitions," +
		"validatingadmissionpolicies,validatingadmissionpolicybindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings"
	out, err := exec.CommandContext(ctx, "sh", "-c", "kubectl get "+kinds+" -o name | grep numalet; true").CombinedOutput()
	must(t, err)
	return found + string(out)
}
