//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestAgentAway checks that, without an agent on the node, running pods keep their CPUs and no
// container is created. When the agent runs again, the pods that waited start on their CPUs.
func TestAgentAway(t *testing.T) {
	ctx := start(t, 6*time.Minute, "held", "late", "shared")
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	before := born(ctx, t, "held", "c")
	sendAway(ctx, t)
	for _, pod := range []*corev1.Pod{e2eutil.Pod("late", "single", e2eutil.Container{Name: "c", CPU: "4"}), e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"})} {
		_, err := cluster.Create(ctx, pod)
		must(t, err)
		must(t, cluster.AwaitEvent(ctx, pod.Name, "Failed", `required plugin "numalet" not present`))
	}
	if now := currentCPUs(ctx, t, "held", "c"); !now.Equal(before) {
		t.Errorf("held had %v, and has %v while the agent is away", before, now)
	}
	callBack(ctx, t)
	for _, name := range []string{"late", "shared"} {
		_, err := cluster.Await(ctx, name, e2eutil.Running)
		must(t, err)
	}
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(before).Minus(born(ctx, t, "late", "c")))
	checkLives(ctx, t)
}

// sendAway removes the agent from every node. The agent runs again after callBack is called. When
// the test ends, sendAway itself calls callBack, so that the next test starts with an agent.
func sendAway(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		back, stop := context.WithTimeout(context.Background(), 2*time.Minute)
		defer stop()
		callBack(back, t)
	})
	must(t, selectNodes(ctx, `"true"`))
	_, err := cluster.Shell(ctx, "while pidof numalet-agent >/dev/null; do sleep 0.2; done")
	must(t, err)
}

func callBack(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, selectNodes(ctx, "null"))
	_, err := cluster.Shell(ctx, "/usr/local/bin/probe ready")
	must(t, err)
}

// selectNodes adds a label to the nodeSelector of the agents' DaemonSet, with the given value in
// JSON. No node has this label, so the DaemonSet has no pods. The value "null" removes the label from
// the nodeSelector.
func selectNodes(ctx context.Context, value string) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"nodeSelector":{"example.com/nowhere":%s}}}}}`, value)
	_, err := cluster.API.AppsV1().DaemonSets("numalet-system").Patch(ctx, "numalet", types.StrategicMergePatchType,
		[]byte(patch), metav1.PatchOptions{})
	return err
}
