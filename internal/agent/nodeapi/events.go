package nodeapi

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/numalet/numalet/pkg/workload"
)

// Events writes events on pods in the background. Equal events are aggregated into
// one with a count, and repeated events of a pod are rate limited
// (record.EventCorrelator), so a container that the kubelet retries for hours
// costs little.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// NewEvents starts a writer, which Close stops.
func NewEvents(ctx context.Context, client kubernetes.Interface, node string) *Events {
	b := record.NewBroadcaster(record.WithContext(ctx))
	b.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	source := corev1.EventSource{Component: Component, Host: node}
	return &Events{broadcaster: b, recorder: b.NewRecorder(scheme.Scheme, source)}
}

// Warn writes an event of type Warning. It never blocks.
func (e *Events) Warn(on *corev1.ObjectReference, reason, message string) {
	e.recorder.Event(on, corev1.EventTypeWarning, reason, message)
}

// Note writes an event of type Normal. It never blocks.
func (e *Events) Note(on *corev1.ObjectReference, reason, message string) {
	e.recorder.Event(on, corev1.EventTypeNormal, reason, message)
}

// Close writes the events that wait. After that, no events are accepted.
func (e *Events) Close() { e.broadcaster.Shutdown() }

// PodRef identifies a pod as the runtime knows it.
type PodRef struct{ Namespace, Name, UID string }

// ContainerRef returns the reference of a container for Warn; if the container is
// "", that of the pod.
func ContainerRef(pod *corev1.Pod, container string) *corev1.ObjectReference {
	ref := objectRef(PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)})
	field := "containers"
	if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container }) {
		field = "initContainers"
	}
	if container != "" {
		ref.FieldPath = fmt.Sprintf("spec.%s{%s}", field, container)
	}
	return ref
}

// ObjectRef returns the reference for Warn of the pod that the runtime knows as r.
// For a static pod that is the mirror pod, because the API server does not know
// the static pod's own UID.
func (p *Pods) ObjectRef(r PodRef) *corev1.ObjectReference {
	if pod, ok := p.Pod(workload.Pod{UID: r.UID, Namespace: r.Namespace, Name: r.Name}); ok && pod.Name == r.Name && pod.Namespace == r.Namespace {
		return ContainerRef(pod, "")
	}
	return objectRef(r)
}

// NodeRef returns the reference of a node for Warn. Events of nodes have the name as UID,
// as the kubelet's, by which kubectl describe finds them.
func NodeRef(node string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(node)}
}

// WarnNode writes an event of type Warning on a node and waits until the API server has
// it, for a program that is about to end.
func WarnNode(ctx context.Context, client kubernetes.Interface, node, reason, message string, now time.Time) error {
	at := metav1.NewTime(now)
	_, err := client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: node + "."},
		InvolvedObject: *NodeRef(node), Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: Component, Host: node}, FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create an event of node %q: %w", node, err)
	}
	return nil
}

func objectRef(r PodRef) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod",
		Namespace: r.Namespace, Name: r.Name, UID: types.UID(r.UID),
	}
}
