//go:build e2e

package e2e

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
	"github.com/numalet/numalet/test/hollowcluster"
)

// gpuChurn runs many GPU pods of two tenants and of no tenant, several at a time. It checks that
// each container has the GPUs that the controller assigned: both the container and the kubelet must
// report these GPUs. It checks that the GPUs are in the group of the pod's tenant. It also watches
// all pods and checks that no GPU is assigned twice at any time.
func gpuChurn(ctx context.Context, t *testing.T) {
	var workers, watcher sync.WaitGroup
	watching, stop := context.WithCancel(ctx)
	events := watchPods(watching, t)
	ledger := hollowcluster.Ledger{Room: map[string]hollowcluster.Amounts{cluster.Node(): room(ctx, t, cluster.Node())}}
	watcher.Go(func() {
		for e := range events {
			if _, err := ledger.See(e); err != nil {
				t.Error(err)
			}
		}
	})
	next, asked := make(chan int), atomic.Int32{}
	for range 5 {
		workers.Go(func() {
			for i := range next {
				if comeAndGo(ctx, t, i) {
					asked.Add(1)
				}
			}
		})
	}
	for i := range *gpuPods {
		next <- i
	}
	close(next)
	workers.Wait()
	stop()
	watcher.Wait()
	t.Logf("%d pods came and went on %d GPUs; of %d the kubelet was asked while they ran, and said what had been decided",
		*gpuPods, len(wholeGPUs()), asked.Load())
}

// comeAndGo runs the i-th pod to its end and checks its GPUs. While the pod runs, it also compares
// them with the GPUs that the kubelet lists for the pod. It returns false if the pod had ended too
// early for this comparison.
func comeAndGo(ctx context.Context, t *testing.T, i int) (asked bool) {
	tenant, requests := turn(i)
	pod := ofTenant(gpuPod(gpuName(i), 5*time.Second, requests...), tenant)
	_, err := cluster.Create(ctx, pod)
	if err == nil {
		pod, err = cluster.Await(ctx, pod.Name, func(p *corev1.Pod) bool { return e2eutil.Running(p) || v1alpha1.Ended(p) })
	}
	if err != nil {
		t.Errorf("a pod of tenant %q: %v", tenant, err)
		return false
	}
	asked = e2eutil.Running(pod) && checkHolds(ctx, t, pod)
	checkGroup(t, pod, tenant)
	pod, err = cluster.Await(ctx, pod.Name, v1alpha1.Ended)
	if err != nil || !e2eutil.Succeeded(pod) {
		t.Errorf("%s: %v, %s: %s", pod.Name, err, pod.Status.Reason, pod.Status.Message)
		return asked
	}
	checkSaw(t, pod)
	return asked
}

// turn returns the tenant of the i-th pod and the requests of its containers. The containers
// request one or two of the tenant's three GPUs. Every fifth pod has no tenant and requests one
// GPU.
func turn(i int) (tenant string, requests []map[string]int) {
	if i%5 == 4 {
		return "", []map[string]int{{whole: 1}}
	}
	return []string{"ann", "ben"}[i%2], [][]map[string]int{{{whole: 1}}, {{whole: 1}, {whole: 1}}, {{whole: 2}}}[i%3]
}

// checkGroup checks that a pod has GPUs of its tenant's group in gpu/groups.yaml. A pod without a
// tenant must have the GPU that is in no accepted group. Only the group of eve names this GPU, and
// the controller does not accept that group, because eve has no permission for the GPU.
func checkGroup(t *testing.T, pod *corev1.Pod, tenant string) {
	t.Helper()
	if got := pod.Annotations[v1alpha1.AnnotationGPUGroup]; got != tenant {
		t.Errorf("%s of tenant %q has GPUs of group %q", pod.Name, tenant, got)
	}
	gpus := map[string][]string{"ann": wholeGPUs()[:3], "ben": wholeGPUs()[2:5], "": wholeGPUs()[5:]}[tenant]
	for container, ids := range gpusOf(t, pod) {
		for _, id := range ids {
			if !slices.Contains(gpus, id) {
				t.Errorf("%s/%s of tenant %q has %s, which is none of %v", pod.Name, container, tenant, id, gpus)
			}
		}
	}
}
