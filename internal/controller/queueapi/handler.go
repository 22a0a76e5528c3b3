package queueapi

import (
	"encoding/json"
	"net/http"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// Source is whom a handler asks.
type Source struct {
	List    func() []queue.Explanation
	Explain func(uid string) (queue.Explanation, bool)
	Said    func(uid string) string // what a pod's author was told last
	Leads   func() bool             // whether this process schedules, so that its queue is the queue
}

// New returns a handler of GET /queue, all pending pods by type and in their order,
// and GET /queue/NAMESPACE/NAME, one of them. It costs O(pods).
func New(s Source) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /queue", s.leading(s.queue))
	mux.HandleFunc("GET /queue/{namespace}/{name}", s.leading(s.why))
	return mux
}

// leading refuses where another replica schedules.
func (s Source) leading(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.Leads() {
			http.Error(w, "this replica stands by: ask the one that the lease names (kubectl -n numalet-system get leases)", http.StatusServiceUnavailable)
			return
		}
		next(w, r)
	}
}

func (s Source) queue(w http.ResponseWriter, _ *http.Request) {
	pods := []Pod{}
	for _, e := range s.List() {
		pods = append(pods, read(e))
	}
	answer(w, pods)
}

func (s Source) why(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("namespace") + "/" + r.PathValue("name")
	for _, e := range s.List() {
		if e.Name != name {
			continue
		}
		if full, ok := s.Explain(e.UID); ok {
			pod := read(full)
			pod.Needs, pod.Said = needs(full), s.Said(e.UID)
			answer(w, pod)
			return
		}
	}
	http.Error(w, "pod "+name+" does not wait for this scheduler: it is bound, gone, refused, gated or another's", http.StatusNotFound)
}

// answer writes JSON. Who asked and went away needs none.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
