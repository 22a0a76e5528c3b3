//go:build e2e

package controller

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/test/e2e/e2eutil"
	"github.com/numalet/numalet/test/hollowcluster"
)

// apply applies a manifest with kubectl. On Kubernetes before 1.36, if the manifest has a GPUGroup,
// apply adds to it the annotations that name its author (see the method `signed`).
func (w *world) apply(text string) {
	w.Helper()
	file := filepath.Join(w.TempDir(), "objects.yaml")
	w.must(os.WriteFile(file, []byte(text), 0o600))
	if strings.Contains(text, "kind: GPUGroup") && !w.mutates() {
		w.must(os.WriteFile(file, []byte(w.signed(file)), 0o600))
	}
	_, err := w.Kubectl(w.ctx, "apply", "-f", file)
	w.must(err)
}

// signed returns the objects of a file, with annotations that name the administrator as their
// author. From Kubernetes 1.36, an admission policy sets these annotations. On older versions, the
// author has to write them.
func (w *world) signed(file string) string {
	w.Helper()
	out, err := w.Kubectl(w.ctx, "annotate", "--local", "--overwrite", "-f", file, "-o", "yaml",
		v1alpha1.AnnotationAuthor+"=admin", v1alpha1.AnnotationAuthorGroups+"=system:masters\nsystem:authenticated")
	w.must(err)
	return out
}

// groupGuide returns the objects that make a GPU group, from the first two YAML blocks of
// docs/tasks/groups-and-quotas.md.
func groupGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(repository + "/docs/tasks/groups-and-quotas.md")
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, block := range strings.Split(string(text), "```yaml\n")[1:3] {
		block, _, _ = strings.Cut(block, "```")
		objects = append(objects, block)
	}
	return strings.Join(objects, "---\n")
}

// gpuPod creates a pod of a tenant with the given number of GPUs. The pod names a GPU group, unless
// `group` is "".
func (w *world) gpuPod(name, tenant, group string, gpus int) {
	w.Helper()
	pod := hollowcluster.Pod("default", name, "numalet-scheduler", "100m", gpus)
	pod.Labels[v1alpha1.LabelTenant] = tenant
	if group != "" {
		pod.Annotations[v1alpha1.AnnotationGPUGroup] = group
	}
	w.create(pod)
}

// given returns the GPU group and the GPUs of a pod, or "" while the pod is not bound.
func (w *world) given(name string) string {
	w.Helper()
	pod := w.pod(name)
	if pod.Spec.NodeName == "" {
		return ""
	}
	placement, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement])
	w.must(err)
	return pod.Annotations[v1alpha1.AnnotationGPUGroup] + " " + strings.Join(placement.Containers["main"].GPUs, ",")
}

// waits returns the scheduler's message about why a pod waits.
func (w *world) waits(name string) string {
	w.Helper()
	return e2eutil.WaitsFor(w.pod(name))
}

func (w *world) condition(group string) string {
	w.Helper()
	out, err := w.Kubectl(w.ctx, "get", "gpugroup", group, "-o", `jsonpath={.status.conditions[?(@.type=="Accepted")].status} {.status.conditions[?(@.type=="Accepted")].reason}`)
	w.must(err)
	return out
}

// TestGroups checks that the GPU group in docs/tasks/groups-and-quotas.md is accepted, and that
// only pods of the tenant ann get its GPUs. A pod that exceeds the quota waits, and its message
// says so. The pod starts once enough GPUs of the quota are free. An edit of the group applies to
// new pods within a second. A group is not accepted if its tenant has no permission for its GPUs.
func TestGroups(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Model: "NVIDIA A100"})
	w.apply(groupGuide(t))
	w.await("the group is accepted", func() bool { return w.condition("training") == "True Accepted" })
	w.gpuPod("first", "ann", "", 2)
	w.await("ann gets its GPUs", func() bool { return w.given("first") == "training GPU-node-00000-0,GPU-node-00000-1" })
	w.gpuPod("stranger", "bob", "training", 1)
	w.await("bob hears that it is not his", func() bool { return strings.Contains(w.waits("stranger"), `not for tenant "bob"`) })
	w.gpuPod("over", "ann", "training", 2)
	w.await("it waits for the quota", func() bool { return strings.Contains(w.waits("over"), "tenant ann, GPU group training") })
	w.must(w.api.CoreV1().Pods("default").Delete(w.ctx, "first", *metav1.NewDeleteOptions(0)))
	w.await("it starts", func() bool { return w.given("over") != "" })

	w.apply(strings.NewReplacer(`gpus: ["0", "1"]`, `gpus: ["3"]`, "quota: 2", "quota: 3").Replace(groupGuide(t)))
	edited := time.Now()
	w.gpuPod("next", "ann", "", 1)
	w.await("the edit applies", func() bool { return w.given("next") == "training GPU-node-00000-3" })
	took := time.Since(edited)
	t.Logf("%v after the edit a pod made after it was bound", took.Round(time.Millisecond))
	if took > time.Second {
		t.Errorf("an edit of a group applied after %v", took)
	}

	w.apply(strings.ReplaceAll(strings.ReplaceAll(groupGuide(t), "tenants: [ann]", "tenants: [eve]"), "name: training", "name: greedy"))
	w.await("eve has no permission", func() bool { return w.condition("greedy") == "False NoPermission" })
	w.gpuPod("greedy", "eve", "greedy", 1)
	w.await("and its pod says so", func() bool { return strings.Contains(w.waits("greedy"), "has no permission to use GPU") })
}

// asAnn runs the command numalet as a user of the tenant ann and returns its output. The user has
// the permissions that docs/tasks/groups-and-quotas.md grants.
func (w *world) asAnn(args ...string) string {
	w.Helper()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig)
	w.must(err)
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = "someone", []string{v1alpha1.TenantSubject("ann")}
	}
	file := filepath.Join(w.TempDir(), "ann.kubeconfig")
	w.must(clientcmd.WriteToFile(*config, file))
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(w.ctx, *tool, append(args, "--kubeconfig", file)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		w.Fatalf("numalet %v: %v: %s", args, err, &stderr)
	}
	w.Logf("numalet %s\n%s%s", strings.Join(args, " "), &stdout, &stderr)
	return stdout.String()
}

// TestGroupsExample checks the GPU groups that `numalet groups propose` proposes for pods of 2, 1,
// 2 and 3 GPUs. Each of the three nodes has 4 GPUs. The tenant ann may use the GPUs of two nodes.
// With the proposed groups, all four pods run on these two nodes. No group contains the GPUs of the
// third node. The users of ann see only the groups that their roles name.
func TestGroupsExample(t *testing.T) {
	w := newWorld(t, 3, hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Model: "NVIDIA A100"})
	rights, _, _ := strings.Cut(groupGuide(t), "---\napiVersion: numalet.dev")
	w.apply(strings.ReplaceAll(rights, "[node-00000]", "[node-00000, node-00001]"))
	w.apply(annsRole)
	proposal := w.asAnn("groups", "propose", "--tenant", "ann", "--demands", "2,1,2,3")
	if groups := strings.Count(proposal, "kind: GPUGroup"); groups != 4 || strings.Contains(proposal, "node-00002") {
		t.Fatalf("%d groups, want 4, and none of node-00002, which is not ann's", groups)
	}
	w.apply(proposal)
	for i := range 4 {
		name := fmt.Sprint("ann-", i+1)
		w.await(name+" is accepted", func() bool { return w.condition(name) == "True Accepted" })
	}
	for i, demand := range []int{2, 1, 2, 3} {
		w.gpuPod(fmt.Sprint("p", i), "ann", "", demand)
	}
	for i := range 4 {
		w.await("all four run", func() bool { return w.given(fmt.Sprint("p", i)) != "" })
	}
	w.await("ann sees who has them, but not ann-4, which no role of hers names", func() bool {
		list := w.asAnn("groups")
		return strings.Count(list, "True") == 3 && !strings.Contains(list, " - ") && !strings.Contains(list, "ann-4")
	})
}

// annsRole lets users of the tenant ann read three of the proposed groups.
const annsRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: groups-of-ann}
rules: [{apiGroups: [numalet.dev], resources: [gpugroups], resourceNames: [ann-1, ann-2, ann-3], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: groups-of-ann}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: groups-of-ann}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "numalet.dev:tenant:ann"}]
`

// TestAlignedGPUs checks that a pod with 2 GPUs, 8 CPUs and the CPU policy "single" gets all of
// them on one NUMA node. Two such pods get one NUMA node each. A third pod waits: enough CPUs are
// free, but no NUMA node has enough free GPUs as well.
func TestAlignedGPUs(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 20, GPUs: 6, Model: "NVIDIA A100"})
	nodes := map[topology.NodeID]bool{}
	for _, name := range []string{"a", "b", "c"} {
		pod := hollowcluster.Pod("default", name, "numalet-scheduler", "8", 2)
		pod.Annotations[v1alpha1.AnnotationCPUPolicy] = "single"
		w.create(pod)
		if name == "c" {
			break
		}
		w.await(name+" is bound", func() bool { return w.pod(name).Spec.NodeName != "" })
		placement, err := v1alpha1.ParsePlacement(w.pod(name).Annotations[v1alpha1.AnnotationPlacement])
		w.must(err)
		main := placement.Containers["main"]
		w.Logf("%s: CPUs by NUMA node %v, GPUs %v", name, main.CPUs, main.GPUs)
		for numa, cpus := range main.CPUs {
			nodes[numa] = true
			for _, id := range main.GPUs {
				index, err := strconv.Atoi(id[len(id)-1:])
				w.must(err)
				if cpus != 8 || len(main.GPUs) != 2 || topology.NodeID(index*2/6) != numa {
					t.Errorf("%s has %d CPUs on NUMA node %d and the GPU %s, which is on %d", name, cpus, numa, id, index*2/6)
				}
			}
		}
	}
	if len(nodes) != 2 {
		t.Errorf("two pods have CPUs on NUMA nodes %v, want one each", nodes)
	}
	w.await("the third hears why it waits", func() bool { return strings.Contains(w.waits("c"), "enough exclusive CPUs and GPUs") })
	t.Log(w.waits("c"))
}
