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

// Events writes events on pods and Nodes in the background. Equal events become one event with a
// count, and repeated events of a pod are rate-limited (record.EventCorrelator). So a container
// causes few requests even if the agent refuses it again and again for hours.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// NewEvents starts a goroutine that writes events. Close stops it.
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

// Close stops the goroutine that NewEvents started. Events that are still queued may be lost. After
// a call of Close, Events ignores new events.
func (e *Events) Close() { e.broadcaster.Shutdown() }

// PodRef identifies a pod by the namespace, name and UID that the container runtime has.
type PodRef struct{ Namespace, Name, UID string }

// ContainerRef returns the reference of a container, to which Warn can attach an event. If the
// parameter `container` is "", it returns the reference of the pod.
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

// ObjectRef returns the reference of a pod, to which Warn can attach an event. For a static pod it
// returns the reference of the mirror pod, because the API server does not know the static pod's
// own UID.
func (p *Pods) ObjectRef(r PodRef) *corev1.ObjectReference {
	if pod, ok := p.Pod(workload.Pod{UID: r.UID, Namespace: r.Namespace, Name: r.Name}); ok && pod.Name == r.Name && pod.Namespace == r.Namespace {
		return ContainerRef(pod, "")
	}
	return objectRef(r)
}

// NodeRef returns the reference of a Node, to which Warn can attach an event. The UID in the
// reference is the name of the Node, as in the kubelet's events, because kubectl describe looks for
// events with the name as the UID.
func NodeRef(node string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(node)}
}

// WarnNode writes an event of type Warning on a Node, and returns when the API server has it.
// Programs that are about to end use it instead of Events.
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
