package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/internal/controller/mirror"
	"github.com/numalet/numalet/internal/controller/podreader"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

const listedNodes, listedPods = 5000, 100_000

// BenchmarkList measures how many pods are read per second when the controller starts. The cluster
// has 100,000 pods of 4 KB on 5,000 nodes. For comparison, it also measures a plain client: an
// informer without an event handler. The time of the plain client ends when its cache has all pods.
// The time of the controller ends when the resources of all pods count as used on their nodes. The
// API server is another process, so its CPU time is not measured.
func BenchmarkList(b *testing.B) {
	config := startPodServer(b)
	client, err := kubernetes.NewForConfig(config)
	must(err)
	pods, err := podreader.New(config)
	must(err)
	for _, list := range []struct {
		by  string
		run func(*testing.B) spent
	}{
		{"plain client", func(*testing.B) spent { return listPlainly(client) }},
		{"controller", func(b *testing.B) spent { return listIntoController(b, client, pods) }},
	} {
		b.Run("by="+list.by, func(b *testing.B) {
			var sum spent
			for b.Loop() {
				s := list.run(b)
				sum.wall, sum.cpu = sum.wall+s.wall, sum.cpu+s.cpu
			}
			b.ReportMetric(float64(listedPods*b.N)/sum.wall.Seconds(), "pods/s")
			b.ReportMetric(float64(sum.cpu.Microseconds())/float64(listedPods*b.N), "cpu-µs/pod")
		})
	}
}

func listPlainly(client kubernetes.Interface) spent {
	informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	return runUntil(informer, informer.HasSynced)
}

func listIntoController(b *testing.B, client kubernetes.Interface, pods typedcorev1.PodsGetter) spent {
	c, end := unwatched(b, client, nil)
	defer end()
	c.factory = mirror.NewInformers(client, pods)
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	for _, part := range c.parts() {
		if err := part(ctx); err != nil {
			b.Fatal(err)
		}
	}
	var bound atomic.Int64
	c.state.Subscribe(func(nodestate.Event) { bound.Add(1) }, nodestate.Bound)
	for i := range listedNodes {
		c.mirror.SetNode(crowdNode(i))
	}
	return runUntil(c.factory.Core().V1().Pods().Informer(), func() bool { return bound.Load() == listedPods })
}

// spent is the time that a list takes, and the CPU time of the process in this time.
type spent struct{ wall, cpu time.Duration }

// runUntil runs an informer until a condition holds. Before that, it returns all free memory to the
// kernel. So the time of each list includes the first access to the memory that the list needs.
func runUntil(informer cache.SharedIndexInformer, done func() bool) spent {
	debug.FreeOSMemory()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	cpu, began := processorTime(), time.Now()
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	for !done() {
		time.Sleep(time.Millisecond)
	}
	s := spent{time.Since(began), processorTime() - cpu}
	stop()
	<-ended
	return s
}

// listedPod returns a bound pod. The encoded pod has 4 KB.
func listedPod(i int) *corev1.Pod {
	pod := labeled("pod", i, "100m")
	pod.UID, pod.ResourceVersion = types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)), strconv.Itoa(i+1)
	pod.Spec.NodeName, pod.Status.Phase = crowdNode(i%listedNodes).Name, corev1.PodRunning
	for j := range 30 {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", j), Value: strings.Repeat("x", 80)})
	}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 600))}}
	return pod
}
