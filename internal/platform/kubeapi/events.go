package kubeapi

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is the length, in bytes, of the longest note that the API server accepts in an event of
// the API group events.k8s.io (NoteLengthLimit in pkg/apis/core/validation/events.go of
// Kubernetes). It refuses an event with a longer note. It accepts core events with longer messages.
const maxNote = 1024

// Recorder is an event recorder that cuts notes that are too long for the API server.
type Recorder struct{ events.EventRecorder }

// Eventf records an event. It is like the method of the interface events.EventRecorder, but cuts
// the note.
func (r Recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, eventType, reason, action, "%s", cut(fmt.Sprintf(note, args...)))
}

// cut returns a note of at most maxNote bytes. It cuts a longer note between two characters, and
// ends it with " ...", as kube-scheduler does.
func cut(note string) string {
	const ellipsis = " ..."
	if len(note) <= maxNote {
		return note
	}
	end := maxNote - len(ellipsis)
	for !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + ellipsis
}
