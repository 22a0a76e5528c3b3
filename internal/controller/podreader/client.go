// Package podreader reads pods for informers. Most of a pod's data is in fields that neither the
// controller nor kube-scheduler's filters read. Package podreader drops these fields before it
// decodes a pod. When the controller starts and reads the pods of a large cluster, this saves the
// larger part of the time and of the memory that it takes to decode the pods.
//
// Because fields are missing, no pod that was read in this way may be written to the API server.
//
// cut.go drops fields from any message in protobuf.
package podreader

import (
	"bytes"
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// New returns a client that reads pods of the cluster that `config` describes, without the dropped
// fields.
func New(config *rest.Config) (typedcorev1.PodsGetter, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = trimmingCodecs{scheme.Codecs.WithoutConversion()}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client of pods at %s: %w", config.Host, err)
	}
	return typedcorev1.New(client), nil
}

// unread returns the fields of a pod that neither the controller nor kube-scheduler's filters read:
// the managed fields, and most of what the pod says about the processes in its containers.
func unread() cut {
	var pod, meta, spec, container cut
	meta.drop(metav1.ObjectMeta{}, "ManagedFields")
	container.drop(corev1.Container{}, "Command", "Args", "Env", "EnvFrom", "VolumeMounts",
		"LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle")
	spec.enter(corev1.PodSpec{}, container, "InitContainers", "Containers")
	pod.enter(corev1.Pod{}, meta, "ObjectMeta")
	pod.enter(corev1.Pod{}, spec, "Spec")
	return pod
}

// trimmingCodecs wraps each decoder in a trimmingDecoder.
type trimmingCodecs struct{ runtime.NegotiatedSerializer }

func (c trimmingCodecs) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return trimmingDecoder{c.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

// trimmingDecoder drops those fields of pods that the controller does not read, and then decodes
// the pods. It decodes other data as it is, such as an error of the API server, or pods that are
// not encoded in protobuf.
type trimmingDecoder struct{ runtime.Decoder }

func (d trimmingDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for _, kind := range trimmedKinds() {
		if message, ok := bytes.CutPrefix(data, kind.header); ok {
			if rest, ok := kind.fields.apply(append((*buffer)[:0], kind.header...), message); ok {
				data, *buffer = rest, rest
			}
		}
	}
	return d.Decoder.Decode(data, defaults, into) // the decoder copies the data into the object that it returns, so the buffer can be used again
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// trimmedKind is a kind of object from which fields are dropped.
type trimmedKind struct {
	header []byte // what an encoded object of this kind begins with
	fields cut    // what to drop from the runtime.Unknown in which the API server wraps an object of this kind
}

// trimmedKinds returns the kinds of objects that contain pods: Pod and PodList.
var trimmedKinds = sync.OnceValue(func() []trimmedKind {
	pod := unread()
	var list, wrappedPod, wrappedList cut
	list.enter(corev1.PodList{}, pod, "Items")
	wrappedPod.enter(runtime.Unknown{}, pod, "Raw")
	wrappedList.enter(runtime.Unknown{}, list, "Raw")
	return []trimmedKind{{header("Pod"), wrappedPod}, {header("PodList"), wrappedList}}
})

// header returns the bytes with which each object of a kind begins if it is encoded in protobuf:
// the magic number of Kubernetes, and the field 1 of runtime.Unknown, which has the kind.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
func header(kind string) []byte {
	named, err := (&runtime.TypeMeta{APIVersion: "v1", Kind: kind}).Marshal()
	if err != nil {
		panic(err) // an object in memory can always be encoded
	}
	return protowire.AppendBytes(protowire.AppendTag([]byte("k8s\x00"), 1, protowire.BytesType), named)
}
