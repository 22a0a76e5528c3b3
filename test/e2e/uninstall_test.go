//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestUninstall runs the steps of docs/tasks/administer.md. Running pods continue to run, and
// nothing of Numalet remains on the node or in the cluster. It must be the last test; `make
// cluster` installs Numalet again.
func TestUninstall(t *testing.T) {
	ctx := start(t, 8*time.Minute, "held", "stays", "after")
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("stays", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	stays := born(ctx, t, "stays", "c")

	setEnv(ctx, t, "NUMALET_EXCLUSIVE_CPUS=false")
	awaitNode(ctx, t, nothingPublished)
	must(t, cluster.Delete(ctx, "held"))
	_, err := cluster.Shell(ctx, "rm /etc/containerd/conf.d/numalet.toml && kill $(pidof containerd)")
	must(t, err)
	for _, part := range []string{"controller/admission", "admission", "cluster"} {
		numalet(ctx, t, "delete", "--wait", "-k", "../../deploy/"+part)
	}
	_, err = cluster.Shell(ctx, "rm -r /var/lib/numalet && rm -rf /run/numalet")
	must(t, err)

	awaitCPUs(ctx, t, "stays", "c", stays)
	create(ctx, t, e2eutil.Pod("after", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	awaitCPUs(ctx, t, "after", "c", cpuset.Range(0, 15))
	if left := leftovers(ctx, t); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// leftovers lists what bears Numalet's name on the node and in the cluster.
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
