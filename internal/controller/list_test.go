package controller

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const listedNodes, listedPods = 5000, 100_000

// BenchmarkList measures how many pods a second are read when the controller starts. The cluster
// has 100,000 pods of 4 KB on 5,000 nodes. For comparison, it also measures a plain client: an
// informer without an event handler. The controller has read a pod when the pod's resources count
// as used on the pod's node.
func BenchmarkList(b *testing.B) {
	client := servePods(b)
	for by, list := range map[string]func(testing.TB, kubernetes.Interface) (cpu time.Duration){"plain client": listPlainly, "controller": listIntoController} {
		b.Run("by="+by, func(b *testing.B) {
			cpu := time.Duration(0)
			for b.Loop() {
				cpu += list(b, client)
			}
			b.ReportMetric(float64(listedPods*b.N)/b.Elapsed().Seconds(), "pods/s")
			b.ReportMetric(float64(cpu.Microseconds())/float64(listedPods*b.N), "cpu-µs/pod")
		})
	}
}

func listPlainly(t testing.TB, client kubernetes.Interface) (cpu time.Duration) {
	informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	return runUntil(t, informer, informer.HasSynced)
}

func listIntoController(t testing.TB, client kubernetes.Interface) (cpu time.Duration) {
	timer := t.(*testing.B)
	timer.StopTimer()
	c, end := unwatched(t, client, nil)
	defer end()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, part := range c.parts() {
		if err := part(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for i := range listedNodes {
		c.mirror.SetNode(crowdNode(i))
	}
	last := string(listedPod(listedPods - 1).UID)
	timer.StartTimer()
	return runUntil(t, c.factory.Core().V1().Pods().Informer(), func() bool { return c.state.Holds(last) })
}

// runUntil runs an informer until a condition holds. It returns the CPU time that the process used
// meanwhile. This includes the time of the API server, which runs in the same process (servePods).
func runUntil(t testing.TB, informer cache.SharedIndexInformer, done func() bool) (cpu time.Duration) {
	before := processorTime()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	for !done() {
		time.Sleep(time.Millisecond)
	}
	cpu = processorTime() - before
	stop()
	<-ended
	return cpu
}

// servePods starts an API server that sends the pods, already encoded, to each watch that asks for
// the initial list. It returns a client of this server.
func servePods(b *testing.B) kubernetes.Interface {
	stream := encodedPods(b)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sendInitialEvents") != "true" || !strings.HasSuffix(r.URL.Path, "/pods") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
		if _, err := w.Write(stream); err == nil {
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	b.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf}}
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// encodedPods returns what an API server sends for a watch with sendInitialEvents: all pods, and
// then a bookmark.
func encodedPods(b *testing.B) []byte {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	var stream bytes.Buffer
	to := info.StreamSerializer.Framer.NewFrameWriter(&stream)
	send := func(kind watch.EventType, pod *corev1.Pod) {
		var encoded bytes.Buffer
		if err := encoder.Encode(pod, &encoded); err != nil {
			b.Fatal(err)
		}
		event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: encoded.Bytes()}}
		if err := info.StreamSerializer.Encode(event, to); err != nil {
			b.Fatal(err)
		}
	}
	for i := range listedPods {
		send(watch.Added, listedPod(i))
	}
	send(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(listedPods + 1), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}})
	b.Logf("%d bytes a pod", stream.Len()/listedPods)
	return stream.Bytes()
}

// listedPod returns a bound pod. It has 4 KB if it is encoded.
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
