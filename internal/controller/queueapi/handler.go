package queueapi

import (
	"encoding/json"
	"net/http"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// Source has the functions that a handler reads the queue with. Its functions may be called from any goroutine.
type Source struct {
	List    func() []queue.Explanation
	Explain func(uid string) (queue.Explanation, bool)
	Message func(uid string) string // a pod's last event
	Leads   func() bool             // whether this process is the leader, whose queue is the cluster's
}

// New returns a handler of GET /queue, all pending pods by type and in their order,
// and GET /queue/NAMESPACE/NAME, one of them. All responses are JSON; that of an error has
// a message. A request costs O(pods · log pods).
func New(s Source) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /queue", s.ifLeading(s.queue))
	mux.HandleFunc("GET /queue/{namespace}/{name}", s.ifLeading(s.why))
	return mux
}

// ifLeading refuses requests to a replica on standby.
func (s Source) ifLeading(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.Leads() {
			writeJSON(w, http.StatusServiceUnavailable, failure{"this replica is on standby: connect to the holder of the lease (kubectl -n numalet-system get leases)"})
			return
		}
		next(w, r)
	}
}

func (s Source) queue(w http.ResponseWriter, _ *http.Request) {
	pods := []Pod{}
	for _, e := range s.List() {
		pods = append(pods, podOf(e))
	}
	writeJSON(w, http.StatusOK, pods)
}

func (s Source) why(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("namespace") + "/" + r.PathValue("name")
	for _, e := range s.List() {
		if e.Name != name {
			continue
		}
		if full, ok := s.Explain(e.UID); ok {
			pod := podOf(full)
			pod.Needs, pod.Message = needs(full), s.Message(e.UID)
			writeJSON(w, http.StatusOK, pod)
			return
		}
	}
	writeJSON(w, http.StatusNotFound, failure{"pod " + name + " is not in the queue: it is bound, deleted or rejected, it has scheduling gates, or it belongs to another scheduler"})
}

// failure is the response of a request that failed.
type failure struct {
	Message string `json:"message"`
}

const jsonType = "application/json"

// writeJSON ignores errors: the client has gone.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
