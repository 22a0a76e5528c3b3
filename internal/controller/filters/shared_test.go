package filters

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// TestSharedAmounts reads random pods, many with equal requests. It checks that each pod has the
// amounts that the function podInfo returns for it, and as many required affinity terms. It also
// checks that pods with equal requests share their amounts.
func TestSharedAmounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	amounts, shared := &sharedAmounts{}, 0
	var last *v1.Pod
	for i := range 5000 {
		pod := randomRequests(r, fmt.Sprint(i))
		got, err := amounts.podInfo(pod)
		want, wantErr := podInfo(pod)
		if err != nil || wantErr != nil {
			t.Fatal(err, wantErr)
		}
		if got.Pod != pod {
			t.Fatalf("pod %d has the PodInfo of pod %s", i, got.Pod.Name)
		}
		if diff := cmp.Diff(want.CalculateResource(), got.CalculateResource()); diff != "" {
			t.Fatalf("amounts of pod %d (-want +got):\n%s\nspec: %v", i, diff, pod.Spec)
		}
		if len(got.RequiredAffinityTerms) != len(want.RequiredAffinityTerms) {
			t.Fatalf("pod %d has %d terms of affinity, want %d", i, len(got.RequiredAffinityTerms), len(want.RequiredAffinityTerms))
		}
		if last != nil && dependsOnRequests(pod) && dependsOnRequests(last) && sameRequests(pod.Spec.Containers, last.Spec.Containers) {
			if before, _ := amounts.podInfo(last); before.CalculateResource().Resource != got.CalculateResource().Resource {
				t.Fatalf("pods %d and %s have equal requests, and each has its own amounts", i, last.Name)
			}
			shared++
		}
		last = pod
	}
	if shared == 0 {
		t.Error("no two pods in a row have equal requests")
	}
}

// randomRequests returns a pod with one or two containers. Sometimes its amounts also depend on
// other fields than the requests of its containers.
func randomRequests(r *rand.Rand, name string) *v1.Pod {
	list := func() v1.ResourceList {
		all := v1.ResourceList{}
		for _, name := range []v1.ResourceName{"cpu", "memory", "nvidia.com/gpu", "ephemeral-storage"} {
			if r.IntN(2) == 0 {
				all[name] = *resource.NewQuantity(int64(r.IntN(2)), resource.DecimalSI)
			}
		}
		return all
	}
	pod := st.MakePod().Name(name).UID(name).Namespace("default").Obj()
	for range 1 + r.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: list()}})
	}
	switch r.IntN(20) {
	case 0:
		pod.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("3")}}}}
	case 1:
		pod.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("5")}
	case 2:
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("7")}}
	case 3:
		pod.Spec.Affinity = st.MakePod().PodAffinityExists("app", "zone", st.PodAffinityWithRequiredReq).Obj().Spec.Affinity
	case 4:
		pod.Spec.Containers[0].Name = "resized"
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "resized", Resources: &v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("9")}}}}
	}
	return pod
}
