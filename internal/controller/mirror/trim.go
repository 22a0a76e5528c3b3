package mirror

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

// Trim is a transform function for informers. To save memory, it drops the managed fields of an
// object, which nothing reads.
func Trim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// trimmed returns the fields that neither the controller nor kube-scheduler's filters read from a
// pod: the managed fields, and most of what the pod says about the processes in its containers. In
// most pods, these are the larger part.
func trimmed() cut {
	var pod, meta, spec, container cut
	meta.drop(metav1.ObjectMeta{}, "ManagedFields")
	container.drop(corev1.Container{}, "Command", "Args", "Env", "EnvFrom", "VolumeMounts",
		"LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle")
	spec.enter(corev1.PodSpec{}, container, "InitContainers", "Containers")
	pod.enter(corev1.Pod{}, meta, "ObjectMeta")
	pod.enter(corev1.Pod{}, spec, "Spec")
	return pod
}

// NewPodClient returns a client for the informer of pods (see NewInformers). Its pods lack the
// fields that nothing reads (see the function `trimmed`), so they must not be written to the API
// server.
func NewPodClient(config *rest.Config) (typedcorev1.PodsGetter, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = trimmingCodecs{scheme.Codecs.WithoutConversion()}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client of pods at %s: %w", config.Host, err)
	}
	return typedcorev1.New(client), nil
}

// trimmingCodecs makes decoders that drop fields of pods.
type trimmingCodecs struct{ runtime.NegotiatedSerializer }

func (c trimmingCodecs) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return trimmingDecoder{c.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

// trimmingDecoder drops fields of pods before it decodes the pods. This saves most of the time and
// of the memory that the first list of the pods takes. It decodes other data as it is, such as an
// error of the API server, or pods that are not encoded in protobuf.
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
	return d.Decoder.Decode(data, defaults, into) // the object that it returns has copies of the data
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// trimmedKind is a kind of object from which fields are dropped.
type trimmedKind struct {
	header []byte // what an encoded object of this kind begins with
	fields cut    // of the runtime.Unknown in which the API server wraps an object of this kind
}

// trimmedKinds returns the kinds of objects with pods.
var trimmedKinds = sync.OnceValue(func() []trimmedKind {
	pod := trimmed()
	var list, wrappedPod, wrappedList cut
	list.enter(corev1.PodList{}, pod, "Items")
	wrappedPod.enter(runtime.Unknown{}, pod, "Raw")
	wrappedList.enter(runtime.Unknown{}, list, "Raw")
	return []trimmedKind{{header("Pod"), wrappedPod}, {header("PodList"), wrappedList}}
})

// header returns what each object of a kind begins with if it is encoded in protobuf: the mark of
// Kubernetes, and the field 1 of runtime.Unknown, which has the kind.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
func header(kind string) []byte {
	named, err := (&runtime.TypeMeta{APIVersion: "v1", Kind: kind}).Marshal()
	if err != nil {
		panic(err) // an object in memory can always be encoded
	}
	return protowire.AppendBytes(protowire.AppendTag([]byte("k8s\x00"), 1, protowire.BytesType), named)
}
