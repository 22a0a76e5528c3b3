package queueapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// Source has the functions by which the handler of the queue API reads the queue. Any goroutine
// may call them.
type Source struct {
	List    func() []queue.Explanation
	UID     func(namespace, name string) string // returns the UID of a pod that has not ended, or "" if there is none
	Explain func(uid string) (queue.Explanation, bool)
	Message func(uid string) string // returns the message of the last report about a pod
	// TooLarge checks whether a pod requests more CPUs, memory or GPUs than any node has. If so, it
	// returns a text that names this resource, and otherwise "".
	TooLarge func(*sched.Pod) string
	Leads    func() bool // whether this process is the leader; only the leader's queue is complete
	// Try tries several changes of a pod. For each change, it tells whether a node has room for the
	// changed pod now (see TryFunc).
	Try TryFunc
	// Forecast estimates when a pending pod will start.
	Forecast func(queue.Explanation) Forecast
	// Allow returns an error if the user who sent a request does not have the permission that the
	// attributes describe: to use a verb on a resource. Nil attributes mean API discovery.
	Allow func(*http.Request, *authorizationv1.ResourceAttributes) error
}

// New returns a handler of the queue API. It serves lists of the pending pods of all namespaces or
// of one namespace, single pending pods, their subresource whatif, and API discovery. All lists that
// are requested within a second are made from one list of the queue (see the type `recent`).
//
// The handler supports only the verbs get and list. The order of the queue depends on each tenant's
// score, which measures how much the tenant uses and has used. A changed score can change the
// positions of most pods, and scores change all the time. So a watch would send most of the queue
// again and again.
func New(s Source) *http.ServeMux {
	s.List = (&recent{list: s.List}).get
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root, s.discover)
	mux.HandleFunc("GET "+root+"/"+Resource, s.answer("list", "", s.list))
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/"+Resource, s.answer("list", "", s.list))
	const one = root + "/namespaces/{namespace}/" + Resource + "/{name}"
	mux.HandleFunc("GET "+one, s.answer("get", "", s.get))
	mux.HandleFunc("GET "+one+"/"+whatIfResource, s.answer("get", whatIfResource, s.whatIf))
	return mux
}

// answer returns a handler that checks the permission of the user who sent a request, and then
// responds with the result of the function `read` (a parameter). The check comes first, so that a
// user without permission learns nothing, not even whether this replica leads.
func (s Source) answer(verb, sub string, read func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := s.Allow(r, &authorizationv1.ResourceAttributes{
			Verb: verb, Group: Group, Version: Version, Resource: Resource, Subresource: sub, Namespace: r.PathValue("namespace"), Name: r.PathValue("name"),
		})
		if err == nil && !s.Leads() {
			err = apierrors.NewServiceUnavailable("this replica of numalet-controller is on standby, and only the leader knows the queue: try again in a moment")
		}
		if err == nil && (r.FormValue("watch") == "true" || r.FormValue("watch") == "1") {
			err = apierrors.NewMethodNotSupported(groupResource(), "watch")
		}
		if err != nil {
			refuse(w, err)
			return
		}
		found, err := read(r)
		if err != nil {
			refuse(w, err)
			return
		}
		writeJSON(w, http.StatusOK, shape(r, found))
	}
}

func (s Source) list(r *http.Request) (any, error) {
	if r.FormValue("labelSelector") != "" || r.FormValue("fieldSelector") != "" {
		return nil, apierrors.NewBadRequest(Resource + " have no selectors: give a namespace, or a name")
	}
	found := PendingPodList{TypeMeta: metav1.TypeMeta{APIVersion: Group + "/" + Version, Kind: Kind + "List"}, Items: []PendingPod{}}
	within := r.PathValue("namespace")
	for _, explanation := range s.List() {
		if within == "" || explanation.Pod.Namespace == within {
			found.Items = append(found.Items, podOf(explanation))
		}
	}
	return found, nil
}

func (s Source) get(r *http.Request) (any, error) {
	e, err := s.find(r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	pod := podOf(e)
	pod.Status.Needs, pod.Status.Message = needs(e), s.Message(e.UID)
	forecast := s.Forecast(e)
	pod.Status.Forecast = &forecast
	pod.Status.Advice = Advise(strings.Join([]string{s.TooLarge(e.Pod), pod.Status.WaitsFor, pod.Status.Message}, "; "))
	return pod, nil
}

// find returns the queue's explanation of why the named pod waits. It returns a NotFound error
// if the pod is not in the queue.
func (s Source) find(namespace, name string) (queue.Explanation, error) {
	if explanation, ok := s.Explain(s.UID(namespace, name)); ok {
		return explanation, nil
	}
	return queue.Explanation{}, apierrors.NewNotFound(groupResource(), name)
}

// refuse writes an error as a Status object, as clients of the API server expect.
func refuse(w http.ResponseWriter, err error) {
	failed := apierrors.APIStatus(nil)
	if !errors.As(err, &failed) {
		failed = apierrors.NewInternalError(err)
	}
	status := failed.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	writeJSON(w, int(status.Code), status)
}

const jsonType = "application/json"

// writeJSON writes a response. It ignores write errors, because they mean that the client has
// disconnected.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// asksFor reports whether the first media type in the Accept header of a request contains the text
// `form`, such as "as=Table".
func asksFor(r *http.Request, form string) bool {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	return strings.Contains(first, form)
}
