package nodeapi

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Events writes events on pods, in the background. Equal ones become one with a
// count, and a pod that repeats itself is slowed down (record.EventCorrelator),
// so a container that the kubelet retries for hours costs little.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// NewEvents starts writing; Close ends it.
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

// Close stops taking events; those that wait are written.
func (e *Events) Close() { e.broadcaster.Shutdown() }

// Sandbox is a pod as the runtime knows it.
type Sandbox struct{ Namespace, Name, UID string }

// Ref names a pod for Warn. The container may be empty: the whole pod.
func Ref(pod *corev1.Pod, container string) *corev1.ObjectReference {
	ref := SandboxRef(Sandbox{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)})
	field := "containers"
	if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container }) {
		field = "initContainers"
	}
	if container != "" {
		ref.FieldPath = fmt.Sprintf("spec.%s{%s}", field, container)
	}
	return ref
}

// Ref names for Warn the pod that the runtime knows as s: of a static pod its
// mirror, for the static pod's own UID is none of the API server's.
func (p *Pods) Ref(s Sandbox) *corev1.ObjectReference {
	if pod, ok := p.Pod(s.UID); ok && pod.Namespace == s.Namespace && pod.Name == s.Name {
		return Ref(pod, "")
	}
	return SandboxRef(s)
}

// SandboxRef is Ref for a pod that is not in the cache.
func SandboxRef(s Sandbox) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod",
		Namespace: s.Namespace, Name: s.Name, UID: types.UID(s.UID),
	}
}
