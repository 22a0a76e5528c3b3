//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestStaticPod checks that a static pod, which the kubelet reads from a file, gets exclusive CPUs
// and keeps them when the agent restarts.
func TestStaticPod(t *testing.T) {
	ctx := start(t, 5*time.Minute, "shared")
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	write(ctx, t, e2eutil.Pod("static", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	mirror := "static-" + cluster.Node()
	_, err := cluster.Await(ctx, mirror, e2eutil.Running)
	must(t, err)
	cpus := born(ctx, t, "static", "c")
	if cpus.Len() != 2 || !wholeCores(cpus) {
		t.Errorf("born on %v, want a core", cpus)
	}
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(cpus))
	restartAgent(ctx, t)
	awaitCPUs(ctx, t, "static", "c", cpus)
	must(t, unwrite(ctx))
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15))
	checkLives(ctx, t)
}

// manifest is the file from which the kubelet of the test cluster reads the static pod.
const manifest = "/etc/kubernetes/manifests/static.json"

// write creates a static pod on the node. The pod exists until unwrite is called or the test ends.
func write(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	t.Helper()
	pod.APIVersion, pod.Kind, pod.Namespace = "v1", "Pod", cluster.Namespace
	text, err := json.Marshal(pod)
	must(t, err)
	t.Cleanup(func() { must(t, unwrite(context.Background())) })
	_, err = cluster.Shell(ctx, fmt.Sprintf("mkdir -p $(dirname %s) && echo '%s' >%[1]s.new && mv %[1]s.new %[1]s", manifest, text))
	must(t, err)
}

func unwrite(ctx context.Context) error {
	_, err := cluster.Shell(ctx, "rm -f "+manifest)
	return err
}
