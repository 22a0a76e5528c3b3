package queueapi

import (
	"encoding/json"
	"net/http"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// Source is where a handler reads from. Its functions may be called from any goroutine.
type Source struct {
	List    func() []queue.Explanation
	Explain func(uid string) (queue.Explanation, bool)
	Message func(uid string) string // a pod's last event
	Leads   func() bool             // whether this process schedules, so that its queue is the cluster's
}

// New returns a handler of GET /queue, all pending pods by type and in their order,
// and GET /queue/NAMESPACE/NAME, one of them. A request costs O(pods · log pods).
func New(s Source) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /queue", s.ifLeading(s.queue))
	mux.HandleFunc("GET /queue/{namespace}/{name}", s.ifLeading(s.why))
	return mux
}

// ifLeading refuses requests to a replica that does not schedule.
func (s Source) ifLeading(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.Leads() {
			http.Error(w, "this replica is on standby: ask the holder of the lease (kubectl -n numalet-system get leases)", http.StatusServiceUnavailable)
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
	writeJSON(w, pods)
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
			writeJSON(w, pod)
			return
		}
	}
	http.Error(w, "pod "+name+" is not in the queue: it is bound, deleted, rejected, has scheduling gates, or another scheduler's", http.StatusNotFound)
}

// writeJSON ignores errors: the client has gone.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
