//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// gpuGroups checks the rules of a GPU group: which tenants may use its GPUs, and how many at a
// time. The group first has two GPUs of one NUMA node. An edit then replaces them by another GPU.
func gpuGroups(ctx context.Context, t *testing.T) {
	pair, other := wholeGPUs()[2:4], wholeGPUs()[4:5]
	regroup(ctx, t, "ann", 2, pair)
	checkAligned(ctx, t, placeAligned(ctx, t, 4, "ann"), pair, "4-7")
	refused(ctx, t)
	over := overQuota(ctx, t, pair)
	next := editApplies(ctx, t, other)
	mustHold(ctx, t, next)
	mustHold(ctx, t, over) // the pod "over" keeps its GPUs, although editApplies has given its group another GPU
	must(t, cluster.Delete(ctx, "over", "next"))
}

// refused checks that two pods wait. One names a GPU group that is not for its tenant. The other
// names a group that is for its tenant, but this tenant has no permission for the group's GPUs.
func refused(ctx context.Context, t *testing.T) {
	t.Helper()
	for name, tc := range map[string]struct{ tenant, group, why string }{
		"stranger": {"ben", "ann", `GPU group "ann" is not for tenant "ben"`},
		"greedy":   {"eve", "eve", `tenant eve has no permission to use GPU`},
	} {
		pod := ofTenant(gpuPod(name, time.Hour, map[string]int{whole: 1}), tc.tenant)
		annotate(v1alpha1.AnnotationGPUGroup, tc.group)(pod)
		_, err := cluster.Create(ctx, pod)
		must(t, err)
		awaitReason(ctx, t, name, tc.why)
		must(t, cluster.Delete(ctx, name))
	}
}

// overQuota checks that a pod that exceeds the quota of its GPU group waits until the pod "aligned"
// is deleted.
func overQuota(ctx context.Context, t *testing.T, gpus []string) *corev1.Pod {
	t.Helper()
	_, err := cluster.Create(ctx, ofTenant(gpuPod("over", time.Hour, map[string]int{whole: 2}), "ann"))
	must(t, err)
	awaitReason(ctx, t, "over", "tenant ann, GPU group ann")
	must(t, cluster.Delete(ctx, "aligned"))
	over, err := cluster.Await(ctx, "over", e2eutil.Running)
	must(t, err)
	if diff := cmp.Diff(map[string][]string{"c0": gpus}, gpusOf(t, over)); diff != "" {
		t.Errorf("over has GPUs (-of the group +decided):\n%s", diff)
	}
	return over
}

// editApplies replaces the GPUs of ann's group by another GPU, while pods use all GPUs that the
// group had before. It checks that a pod that is created right after the edit gets the new GPU
// within a second.
func editApplies(ctx context.Context, t *testing.T, gpus []string) *corev1.Pod {
	t.Helper()
	version := regroup(ctx, t, "ann", 3, gpus)
	edited := time.Now()
	made, err := cluster.Create(ctx, ofTenant(gpuPod("next", time.Hour, map[string]int{whole: 1}), "ann"))
	must(t, err)
	took := awaitBound(ctx, t, made).Sub(edited)
	t.Logf("%v after the edit (resource version %s) a pod made after it was bound", took.Round(time.Millisecond), version)
	if took > time.Second {
		t.Errorf("an edit of a group applied after %v", took)
	}
	next, err := cluster.Await(ctx, "next", e2eutil.Running)
	must(t, err)
	if diff := cmp.Diff(map[string][]string{"c0": gpus}, gpusOf(t, next)); diff != "" {
		t.Errorf("next has GPUs (-of the group +decided):\n%s", diff)
	}
	return next
}

// regroup replaces the GPUs and the quota of a GPU group, and returns its new resource version.
func regroup(ctx context.Context, t *testing.T, group string, quota int, gpus []string) (version string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"quota":%d,"nodes":[{"name":%q,"gpus":["%s"]}]}}`, quota, cluster.Node(), strings.Join(gpus, `","`))
	edited := &metav1.PartialObjectMetadata{}
	body, err := cluster.API.CoreV1().RESTClient().Patch(types.MergePatchType).
		AbsPath("/apis", v1alpha1.Group, "v1alpha1", v1alpha1.GPUGroupResource().Resource, group).Body(patch).DoRaw(ctx)
	must(t, err)
	must(t, json.Unmarshal(body, edited))
	return edited.ResourceVersion
}

// awaitBound waits until a watch reports that a pod is bound, and returns the time of this report.
func awaitBound(ctx context.Context, t *testing.T, pod *corev1.Pod) time.Time {
	t.Helper()
	w, err := cluster.API.CoreV1().Pods(pod.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + pod.Name, ResourceVersion: pod.ResourceVersion,
	})
	must(t, err)
	defer w.Stop()
	for e := range w.ResultChan() {
		if now, is := e.Object.(*corev1.Pod); is && now.Spec.NodeName != "" {
			return time.Now()
		}
	}
	t.Fatalf("pod %s was not bound: %v", pod.Name, ctx.Err())
	return time.Time{}
}

// awaitReason waits until the message of a pod's condition PodScheduled contains the text given as
// `why`, and until the message of an event of the pod contains this text.
func awaitReason(ctx context.Context, t *testing.T, pod, why string) {
	t.Helper()
	said, err := cluster.Await(ctx, pod, func(p *corev1.Pod) bool { return strings.Contains(e2eutil.WaitsFor(p), why) })
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, pod, "FailedScheduling", why))
	t.Logf("%s waits: %s", pod, e2eutil.WaitsFor(said))
}
