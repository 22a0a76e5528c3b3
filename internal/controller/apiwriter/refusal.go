package apiwriter

import (
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// readable is as much of an answer as is read: a Status is much smaller.
const readable = 1 << 20

// refusal returns what the API server, or somebody on the way to it, says of an
// object that it did not make: the Status that was sent, and else one that the
// code stands for.
func refusal(o object, answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, readable))
	if err != nil {
		return err
	}
	if said, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		if status, ok := said.(*metav1.Status); ok && status.Status == metav1.StatusFailure {
			return apierrors.FromObject(status)
		}
	}
	seconds := max(0, int(after(answer).Seconds()))
	return apierrors.NewGenericServerResponse(answer.StatusCode, http.MethodPost, o.resource, o.name, text(answer, body), seconds, true)
}

// text returns an answer that people can read.
func text(answer *http.Response, body []byte) string {
	if media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err != nil || !strings.HasPrefix(media, "text/") {
		return "unknown"
	}
	return strings.TrimSpace(string(body[:min(len(body), 2048)]))
}
