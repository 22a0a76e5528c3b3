package podreader

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestTrimmedPods checks that the decoder of pods drops exactly the fields that nothing reads. The
// test uses pods and lists of pods that have random values in all fields.
func TestTrimmedPods(t *testing.T) {
	random := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs)
	for range 50 {
		list := &corev1.PodList{Items: make([]corev1.Pod, 3)}
		random.Fill(&list.ListMeta)
		for i := range list.Items {
			random.Fill(&list.Items[i])
		}
		checkDecoder(t, list, func(list *corev1.PodList) {
			for i := range list.Items {
				trimByHand(&list.Items[i])
			}
		})
		checkDecoder(t, &list.Items[0], trimByHand)
	}
}

// TestOtherObjectsAreNotTrimmed checks that the decoder of pods changes nothing in an object of
// another kind.
func TestOtherObjectsAreNotTrimmed(t *testing.T) {
	checkDecoder(t, &metav1.Status{Status: metav1.StatusFailure, Message: "gone", Code: 410}, func(*metav1.Status) {})
	checkDecoder(t, &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}, func(*corev1.PodTemplate) {})
}

// TestBrokenPods checks that the decoder of pods and the decoder of client-go return the same error
// for a pod that they cannot read.
func TestBrokenPods(t *testing.T) {
	pod := &corev1.Pod{}
	fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs).Fill(pod)
	whole := encode(t, pod)
	for length := range len(whole) {
		want, _, wantErr := plainDecoder().Decode(whole[:length], nil, nil)
		got, _, err := trimmingDecoder{plainDecoder()}.Decode(whole[:length], nil, nil)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || (got == nil) != (want == nil) {
			t.Fatalf("%d of %d bytes: error %v, want %v", length, len(whole), err, wantErr)
		}
	}
}

// checkDecoder encodes an object, and reads it with the decoder of pods and with client-go's
// decoder. The two results must be equal, apart from the fields that the function `trim` drops.
func checkDecoder[T runtime.Object](t *testing.T, object T, trim func(T)) {
	t.Helper()
	encoded := encode(t, object)
	before := bytes.Clone(encoded)
	want, _, err := plainDecoder().Decode(encoded, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	trim(want.(T))
	got, _, err := trimmingDecoder{plainDecoder()}.Decode(encoded, nil, nil)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("decoded: %v (-want +got):\n%s", err, diff)
	}
	if !bytes.Equal(encoded, before) {
		t.Fatal("the decoder has changed the data that it was given")
	}
}

// trimByHand drops from a pod what the decoder of pods must drop.
func trimByHand(pod *corev1.Pod) {
	pod.ManagedFields = nil
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Command, c.Args, c.Env, c.EnvFrom, c.VolumeMounts = nil, nil, nil, nil, nil
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
		}
	}
}

func encode(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var encoded bytes.Buffer
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if err := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion).Encode(object, &encoded); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

// plainDecoder returns client-go's decoder of protobuf.
func plainDecoder() runtime.Decoder {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return scheme.Codecs.WithoutConversion().DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion)
}
