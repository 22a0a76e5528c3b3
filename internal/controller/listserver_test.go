package controller

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// asPodServer is an environment variable. If it is set, this test binary does not run tests, but is
// the API server of BenchmarkList.
const asPodServer = "NUMALET_TEST_POD_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asPodServer) != "" {
		servePods(os.Stdout, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// podServer is what a client must know of the API server of BenchmarkList.
type podServer struct {
	URL         string
	Certificate []byte
}

// startPodServer starts the API server of BenchmarkList as a process of its own. It returns the
// configuration of a client of this server.
func startPodServer(b *testing.B) *rest.Config {
	process := exec.Command(os.Args[0])
	process.Env, process.Stderr = append(os.Environ(), asPodServer+"=1"), os.Stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close() // ends the process
		if err := process.Wait(); err != nil {
			b.Error(err)
		}
	})
	var server podServer
	if err := json.NewDecoder(stdout).Decode(&server); err != nil {
		b.Fatal(err)
	}
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf}}
	config.CAData = server.Certificate
	return config
}

// servePods runs an API server that sends the pods, already encoded, to each watch that asks for
// the initial list. It writes the server's address, and serves until the reader returns io.EOF.
func servePods(address io.Writer, end io.Reader) {
	stream := encodedPods()
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
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must(json.NewEncoder(address).Encode(podServer{server.URL, certificate}))
	_, err := io.Copy(io.Discard, end)
	must(err)
}

// encodedPods returns what an API server sends for a watch with sendInitialEvents: all pods, and
// then a bookmark.
func encodedPods() []byte {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	var stream bytes.Buffer
	to := info.StreamSerializer.Framer.NewFrameWriter(&stream)
	send := func(kind watch.EventType, pod *corev1.Pod) {
		var encoded bytes.Buffer
		must(encoder.Encode(pod, &encoded))
		event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: encoded.Bytes()}}
		must(info.StreamSerializer.Encode(event, to))
	}
	for i := range listedPods {
		send(watch.Added, listedPod(i))
	}
	send(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(listedPods + 1), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}})
	return stream.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
