//go:build e2e

package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/fleet"
)

// apply applies a manifest.
func (w *world) apply(text string) {
	w.Helper()
	file := filepath.Join(w.TempDir(), "objects.yaml")
	w.must(os.WriteFile(file, []byte(text), 0o600))
	_, err := w.Kubectl(w.ctx, "apply", "-f", file)
	w.must(err)
}

// guide returns the objects of the user guide that a group takes: the first two
// blocks of YAML.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(repository + "/docs/gpu-groups.md")
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

// gpuPod makes a pod of ann's with so many cards, of a group where it names one.
func (w *world) gpuPod(name, tenant, group string, cards int) {
	w.Helper()
	pod := fleet.Pod("default", name, "numalet-scheduler", "100m", cards)
	pod.Labels[v1alpha1.LabelTenant] = tenant
	if group != "" {
		pod.Annotations[v1alpha1.AnnotationGPUGroup] = group
	}
	w.create(pod)
}

// given returns the group and the cards that a pod has, "" while it waits.
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

// waits returns why a pod waits.
func (w *world) waits(name string) string {
	w.Helper()
	for _, c := range w.pod(name).Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

func (w *world) condition(group string) string {
	w.Helper()
	out, err := w.Kubectl(w.ctx, "get", "gpugroup", group, "-o", `jsonpath={.status.conditions[?(@.type=="Accepted")].status} {.status.conditions[?(@.type=="Accepted")].reason}`)
	w.must(err)
	return out
}

// TestGroups: the group of the user guide is in force and keeps its cards for ann; an
// edit applies to a pod within a second; who has no right hears so; what is over
// the quota waits with the reason and starts when enough is given back.
func TestGroups(t *testing.T) {
	w := newWorld(t, 1, fleet.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Cards: "NVIDIA A100"})
	w.apply(guide(t))
	w.await("the group is in force", func() bool { return w.condition("training") == "True InForce" })
	w.gpuPod("first", "ann", "", 2)
	w.await("ann gets its cards", func() bool { return w.given("first") == "training node-00000-gpu-0,node-00000-gpu-1" })
	w.gpuPod("stranger", "bob", "training", 1)
	w.await("bob hears that it is not his", func() bool { return strings.Contains(w.waits("stranger"), `not for tenant "bob"`) })
	w.gpuPod("over", "ann", "training", 1)
	w.await("it waits for the quota", func() bool { return strings.Contains(w.waits("over"), "tenant ann, GPU group training") })
	w.must(w.api.CoreV1().Pods("default").Delete(w.ctx, "first", *metav1.NewDeleteOptions(0)))
	w.await("it starts", func() bool { return w.given("over") != "" })

	w.apply(strings.ReplaceAll(guide(t), `gpus: ["0", "1"]`, `gpus: ["3"]`))
	time.Sleep(time.Second)
	w.gpuPod("next", "ann", "", 1)
	w.await("the edit applies", func() bool { return w.given("next") == "training node-00000-gpu-3" })

	w.apply(strings.ReplaceAll(strings.ReplaceAll(guide(t), "tenants: [ann]", "tenants: [eve]"), "name: training", "name: greedy"))
	w.await("eve has no right to it", func() bool { return w.condition("greedy") == "False NoRight" })
	w.gpuPod("greedy", "eve", "greedy", 1)
	w.await("and hears so", func() bool { return strings.Contains(w.waits("greedy"), "has no right to GPU") })
}

// TestGroupsExample is the spec's: 2 nodes of 4 cards, and containers of 2, 1, 2 and
// 3; with groups as proposed all four run.
func TestGroupsExample(t *testing.T) {
	w := newWorld(t, 2, fleet.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Cards: "NVIDIA A100"})
	w.apply(strings.Split(strings.ReplaceAll(guide(t), "[node-00000]", "[node-00000, node-00001]"), "---\napiVersion: numalet.dev")[0])
	cards := map[string][]string{"g1": {"node-00001", `"0", "1"`}, "g2": {"node-00000", `"3"`}, "g3": {"node-00001", `"2", "3"`}, "g4": {"node-00000", `"0", "1", "2"`}}
	for name, at := range cards {
		w.apply(fmt.Sprintf("apiVersion: numalet.dev/v1alpha1\nkind: GPUGroup\nmetadata: {name: %s}\nspec: {tenants: [ann], nodes: [{name: %s, gpus: [%s]}]}\n", name, at[0], at[1]))
	}
	for name := range cards {
		w.await(name+" is in force", func() bool { return w.condition(name) == "True InForce" })
	}
	for i, demand := range []int{2, 1, 2, 3} {
		w.gpuPod(fmt.Sprint("p", i), "ann", "", demand)
	}
	for i := range 4 {
		w.await("all four run", func() bool { return w.given(fmt.Sprint("p", i)) != "" })
	}
}
