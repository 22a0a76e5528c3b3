//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/checkpoint"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// release is a release of Numalet. Its sources, with the manifests in the folder deploy, are in the
// directory given by the field `tree`. The field `tag` is the tag of its image.
type release struct{ tree, tag string }

// TestSkew upgrades from the previous release in the order of docs/upgrade.md. Then it downgrades
// only the agent, and upgrades it again. So a new agent runs with an old controller, and an old
// agent with a new controller. In both cases, pods of every kind are placed and get the CPUs that
// the controller chose. No pod may end or get other CPUs while programs are replaced. The test adds
// unknown fields to a placement, to the agent's checkpoint file and to the NodeTopology, as a newer
// program would. The older program must still be able to read them.
func TestSkew(t *testing.T) {
	old, current := previous(t), release{"../..", "dev"}
	ctx := start(t, 40*time.Minute, skewNames()...)
	s := &skew{T: t}
	replaceChart(ctx, t, current)
	for _, half := range []string{"crds", "node", "controller"} {
		must(t, old.install(ctx, half))
	}
	s.settle(ctx)
	s.add(ctx, e2eutil.Pod("first", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	s.add(ctx, e2eutil.Pod("witness", "", e2eutil.Container{Name: "c", CPU: "100m"}))

	must(t, current.install(ctx, "crds"))
	must(t, current.install(ctx, "node"))
	s.settle(ctx)
	s.check(ctx, "after the upgrade of the agent")
	publishUnknownField(ctx, t)
	s.addKinds(ctx, "upgraded")
	s.remove(ctx, "upgraded-named", "upgraded-spread", "upgraded-random") // to make room for other pods

	must(t, current.install(ctx, "controller"))
	s.settle(ctx)
	s.check(ctx, "after the upgrade of the controller")

	s.downgradeAgent(ctx, old)
	s.check(ctx, "after the downgrade of the agent")
	s.addKinds(ctx, "downgraded")
	s.addUnknown(ctx, "unknown")
	s.refuse(ctx, "refused")

	must(t, current.install(ctx, "node"))
	s.settle(ctx)
	s.check(ctx, "after the second upgrade of the agent")
	s.checkWaits(ctx, "refused")
	checkLives(ctx, t)
}

// previous returns the release that the script test/e2e/previous has built.
func previous(t *testing.T) release {
	t.Helper()
	old := release{"../../build/previous", "previous"}
	commit, err := os.ReadFile(old.tree + "/build/commit")
	if err != nil {
		t.Fatalf("no previous release is built: run `make e2e-skew`: %v", err)
	}
	t.Logf("previous release: commit %s", commit)
	return old
}

// install installs a part of the release: the custom resource definitions ("crds"), the programs of
// the node ("node"), or the controller with the admission policies ("controller"). It runs the
// script test/e2e/half.
func (r release) install(ctx context.Context, half string) error {
	out, err := exec.CommandContext(ctx, "./half", half, r.tree, r.tag).CombinedOutput()
	if err != nil {
		return fmt.Errorf("install %s of %s: %w: %s", half, r.tag, err, out)
	}
	return nil
}

// replaceChart uninstalls the chart, so that manifests of two releases can be combined. When the
// test ends, it installs the chart of this tree again.
func replaceChart(ctx context.Context, t *testing.T, current release) {
	t.Helper()
	t.Cleanup(func() {
		for _, half := range []string{"crds", "node", "controller"} {
			must(t, current.install(context.Background(), half))
		}
		if out, err := exec.Command("./chart").CombinedOutput(); err != nil {
			t.Errorf("install the chart: %v: %s", err, out)
		}
		rollOut(context.Background(), t)
	})
	uninstallChart(ctx, t)
	numalet(ctx, t, "delete", "pods", "--all", "--wait") // helm does not wait for the pods, and two agents would disturb each other
}

// skewKinds returns a pod for each way to request exclusive CPUs, and a pod with shared CPUs.
func skewKinds(prefix string, numaNode topology.NodeID) []*corev1.Pod {
	return []*corev1.Pod{
		e2eutil.Pod(prefix+"-named", "", e2eutil.Container{Name: "c", CPU: "1", On: map[topology.NodeID]int{numaNode: 1}}),
		e2eutil.Pod(prefix+"-single", "single", e2eutil.Container{Name: "c", CPU: "2"}),
		e2eutil.Pod(prefix+"-spread", "spread", e2eutil.Container{Name: "c", CPU: "2"}),
		e2eutil.Pod(prefix+"-random", "random", e2eutil.Container{Name: "c", CPU: "1"}),
		e2eutil.Pod(prefix+"-shared", "", e2eutil.Container{Name: "c", CPU: "100m"}),
	}
}

func skewNames() []string {
	names := []string{"first", "witness", "unknown", "refused"}
	for _, prefix := range []string{"upgraded", "downgraded"} {
		for _, pod := range skewKinds(prefix, 0) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// skew is the state of TestSkew: the pods that run.
type skew struct {
	*testing.T
	pods []skewPod
}

// skewPod is a pod that must continue to run on the same CPUs. The field `cpus` has its exclusive
// CPUs. It is empty if the pod has shared CPUs.
type skewPod struct {
	*corev1.Pod
	cpus cpuset.Set
}

// settle waits until the agent and the controllers of the installed releases run.
func (s *skew) settle(ctx context.Context) {
	s.Helper()
	rollOut(ctx, s.T)
	numalet(ctx, s.T, "rollout", "status", deployment, "--timeout=4m")
}

// addKinds adds pods of every kind.
func (s *skew) addKinds(ctx context.Context, prefix string) {
	s.Helper()
	for _, pod := range skewKinds(prefix, s.free(ctx)) {
		s.add(ctx, pod)
	}
}

// free returns a NUMA node with a free CPU.
func (s *skew) free(ctx context.Context) topology.NodeID {
	s.Helper()
	at := available(ctx, s.T)
	for numaNode := range topology.NodeID(4) {
		if at[numaNode] > 0 {
			return numaNode
		}
	}
	s.Fatalf("no NUMA node has a free CPU: %v", at)
	return 0
}

// add creates a pod, and waits until it runs.
func (s *skew) add(ctx context.Context, pod *corev1.Pod) {
	s.Helper()
	if exclusive(s.T, pod) {
		place(ctx, s.T, pod)
	} else {
		create(ctx, s.T, pod)
	}
	s.ran(ctx, pod.Name)
}

// ran waits until a pod runs. If the pod has exclusive CPUs, ran checks that they are the CPUs that
// the controller chose, and that the NodeTopology lists them. Later calls of the method `check`
// include this pod.
func (s *skew) ran(ctx context.Context, name string) {
	s.Helper()
	pod, err := cluster.Await(ctx, name, e2eutil.Running)
	must(s.T, err)
	added := skewPod{Pod: pod}
	if exclusive(s.T, pod) {
		added.cpus = born(ctx, s.T, name, "c")
		checkPromised(s.T, pod, "c", added.cpus)
		awaitTopology(ctx, s.T, func(status v1alpha1.NodeTopologyStatus) string {
			return cmp.Diff(map[string]string{"c": added.cpus.String()}, published(status, pod))
		})
	}
	s.pods = append(s.pods, added)
}

// exclusive reports whether a pod requests exclusive CPUs.
func exclusive(t *testing.T, pod *corev1.Pod) bool {
	t.Helper()
	request, err := v1alpha1.ReadCPURequest(pod)
	must(t, err)
	return request.Form != v1alpha1.None
}

// remove deletes pods that were added.
func (s *skew) remove(ctx context.Context, names ...string) {
	s.Helper()
	s.pods = slices.DeleteFunc(s.pods, func(p skewPod) bool { return slices.Contains(names, p.Name) })
	must(s.T, cluster.Delete(ctx, names...))
}

// check checks that all added pods run with the same containers and on the same CPUs as before. The
// pods with shared CPUs must be able to use all CPUs that are not exclusive.
func (s *skew) check(ctx context.Context, when string) {
	s.Helper()
	shared := cpuset.Range(0, 15)
	for _, p := range s.pods {
		shared = shared.Minus(p.cpus)
	}
	for _, before := range s.pods {
		now, err := cluster.API.CoreV1().Pods(before.Namespace).Get(ctx, before.Name, metav1.GetOptions{})
		must(s.T, err)
		if now.UID != before.UID || !e2eutil.Running(now) || containerID(now) != containerID(before.Pod) {
			s.Errorf("%s: %s is not the same running container as before: %+v", when, before.Name, now.Status)
		}
		want := before.cpus
		if want.Empty() {
			want = shared
		}
		awaitCPUs(ctx, s.T, before.Name, "c", want)
	}
	s.Logf("%s: %d pods run as before", when, len(s.pods))
}

// containerID returns the ID that the runtime gave the first container of a pod that runs.
func containerID(pod *corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) == 0 {
		return ""
	}
	return pod.Status.ContainerStatuses[0].ContainerID
}

// addUnknown adds a pod whose placement has fields that no release knows. All agents must ignore
// them.
func (s *skew) addUnknown(ctx context.Context, name string) {
	s.Helper()
	s.bindTo(ctx, name, `{"version":1,"later":{"a":[1]},"containers":{"c":{"cpus":{"%d":1},"later":true}}}`)
	s.ran(ctx, name)
}

// refuse creates a pod whose placement names, in its field `requires`, a feature that no release
// knows. The agent must refuse the pod.
func (s *skew) refuse(ctx context.Context, name string) {
	s.Helper()
	s.bindTo(ctx, name, `{"version":1,"requires":["later"],"containers":{"c":{"cpus":{"%d":1}}}}`)
	must(s.T, cluster.AwaitEvent(ctx, name, eventReason, "it needs a later release of Numalet than this one: it requires later"))
	s.checkWaits(ctx, name)
}

// checkWaits checks that a refused pod still waits for an agent that can start it.
func (s *skew) checkWaits(ctx context.Context, name string) {
	s.Helper()
	pod, err := cluster.API.CoreV1().Pods(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	must(s.T, err)
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		s.Errorf("%s does not wait: %+v", name, pod.Status)
	}
}

// bindTo creates a pod with one exclusive CPU. It uses the service account of the controller to
// bind the pod to the node. The text given as `placement` has one %d, for which bindTo inserts a
// NUMA node that has a free CPU.
func (s *skew) bindTo(ctx context.Context, name, placement string) {
	s.Helper()
	pod := e2eutil.Pod(name, "random", e2eutil.Container{Name: "c", CPU: "1"})
	pod.Spec.SchedulerName = "nobody"
	pod, err := cluster.Create(ctx, pod)
	must(s.T, err)
	bindAsController(ctx, s.T, pod, fmt.Sprintf(placement, s.free(ctx)))
}

// downgradeAgent replaces the agent by that of an older release, which then reads the checkpoint
// file of the newer agent. Before that, downgradeAgent adds fields to this file that no release
// knows. The older agent must not treat the file as damaged.
func (s *skew) downgradeAgent(ctx context.Context, old release) {
	s.Helper()
	sendAway(ctx, s.T)
	s.addToCheckpoint(ctx)
	must(s.T, old.install(ctx, "node"))
	callBack(ctx, s.T)
	s.settle(ctx)
	out, err := cluster.Shell(ctx, "ls /var/lib/numalet")
	must(s.T, err)
	if strings.Contains(out, checkpoint.DamagedSuffix) {
		s.Errorf("the older agent took the checkpoint of the newer one for damaged: %s", out)
	}
}

// addToCheckpoint adds fields that no release knows to the agent's checkpoint file, and corrects
// the checksum in the file.
func (s *skew) addToCheckpoint(ctx context.Context) {
	s.Helper()
	const path = "/var/lib/numalet/checkpoint.json"
	text, err := cluster.Shell(ctx, "cat "+path)
	must(s.T, err)
	var file struct {
		Version int             `json:"version"`
		SHA256  string          `json:"sha256"`
		Content json.RawMessage `json:"content"`
		Later   int             `json:"later"`
	}
	must(s.T, json.Unmarshal([]byte(text), &file))
	changed := strings.NewReplacer(`{"bootID":`, `{"later":[1],"bootID":`, `{"pod":`, `{"later":{"a":1},"pod":`, `{"container":`, `{"later":1,"container":`).Replace(string(file.Content))
	want := 1 // one field in the file, and two for each pod with exclusive CPUs: in the entries of the pod and of its container
	for _, p := range s.pods {
		if !p.cpus.Empty() {
			want += 2
		}
	}
	if n := strings.Count(changed, `"later"`); n < want {
		s.Fatalf("%d fields were added to the checkpoint, want %d: %s", n, want, changed)
	}
	file.Content, file.SHA256, file.Later = json.RawMessage(changed), fmt.Sprintf("%x", sha256.Sum256([]byte(changed))), 1
	body, err := json.Marshal(file)
	must(s.T, err)
	local := filepath.Join(s.TempDir(), "checkpoint.json")
	must(s.T, os.WriteFile(local, body, 0o600))
	must(s.T, cluster.Copy(ctx, local, path))
}

// publishUnknownField adds a field that no release knows to the NodeTopology, as a newer agent
// could. It changes the custom resource definition so that the API server accepts unknown fields
// until the test ends.
func publishUnknownField(ctx context.Context, t *testing.T) {
	t.Helper()
	accept := func(operation string) []string {
		return []string{"patch", "crd/nodetopologies.numalet.dev", "--type=json", "--patch",
			`[{"op":"` + operation + `","path":"/spec/versions/0/schema/openAPIV3Schema/properties/status/x-kubernetes-preserve-unknown-fields","value":true}]`}
	}
	t.Cleanup(func() { numalet(context.Background(), t, accept("remove")...) })
	numalet(ctx, t, accept("add")...)
	for { // the API server drops the field until it uses the changed definition
		numalet(ctx, t, "patch", "nodetopology/"+cluster.Node(), "--subresource=status", "--type=merge", "--patch", `{"status":{"later":{"a":[1]}}}`)
		if got := numalet(ctx, t, "get", "nodetopology/"+cluster.Node(), "-o", "jsonpath={.status.later}"); got != "" {
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
}
