package apisim

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Object is an object that the server stores.
type Object interface {
	runtime.Object
	metav1.Object
}

// Change is a change of an object. Before is nil for a new one, and After for a deleted one.
type Change struct{ Before, After Object }

// history is the number of changes of one resource that a watch can begin with.
const history = 200

// Server is the API server. Its methods may be called from any goroutine.
type Server struct {
	// Observe is called with each change, one at a time and in order. It must not change the objects,
	// and must not call the server.
	Observe func(Change)
	// Event is called with each event that was created, like Observe.
	Event func(Object)
	// Refused is called with each Binding of a pod that is bound already, like Observe.
	Refused func(*corev1.Pod, *corev1.Binding)
	// Trace is called with each request: its class, the object's name, and the fault, or "". It may be nil.
	Trace func(class, namespace, name, fault string)

	scheme    *runtime.Scheme
	codecs    serializer.CodecFactory
	faults    *Faults
	kinds     map[schema.GroupResource]schema.GroupVersionKind
	resources map[reflect.Type]schema.GroupResource

	mu struct {
		sync.Mutex
		version uint64 // of the newest object
		stores  map[schema.GroupResource]*store
	}
}

// store has the objects of one resource.
type store struct {
	objects  map[string]*version // by key
	log      []change            // the last ones
	dropped  uint64              // version of the newest change that the log no longer has
	watchers map[*watcher]bool
}

// version is one version of an object. It is immutable, apart from its encodings.
type version struct {
	Object
	number  uint64
	encoded map[string][]byte // by media type
}

// change is a change in a log. A deleted object has its last state and a new version in after.
type change struct {
	before, after *version
	deleted       bool
}

// New returns a server without objects, which serves all types of a scheme.
func New(scheme *runtime.Scheme, faults *Faults) *Server {
	s := &Server{scheme: scheme, codecs: serializer.NewCodecFactory(scheme), faults: faults, kinds: map[schema.GroupResource]schema.GroupVersionKind{}}
	s.resources = map[reflect.Type]schema.GroupResource{}
	for kind, of := range scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		s.resources[of] = plural.GroupResource()
		if before, ok := s.kinds[plural.GroupResource()]; !ok || preferred(kind.Version, before.Version) {
			s.kinds[plural.GroupResource()] = kind
		}
	}
	s.mu.stores = map[schema.GroupResource]*store{}
	s.mu.version = 1
	return s
}

// preferred reports whether a version is preferred to another one, such as v1 to v1beta1.
func preferred(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a > b }

// Create adds an object, without faults. It panics if there is one of its name.
func (s *Server) Create(o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := s.resourceOf(o)
	if s.store(resource).objects[key(o.GetNamespace(), o.GetName())] != nil {
		panic(fmt.Sprintf("%v %s exists", resource, o.GetName()))
	}
	s.put(resource, nil, o.DeepCopyObject().(Object))
}

// Update changes an object, without faults, and reports whether it exists. edit may return false to
// leave it as it is.
func Update[T Object](s *Server, namespace, name string, edit func(T) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	resource := s.resourceOf(none)
	before := s.store(resource).objects[key(namespace, name)]
	if before == nil {
		return false
	}
	now := before.DeepCopyObject().(T)
	if edit(now) {
		s.put(resource, before, now)
	}
	return true
}

// Delete deletes an object, without faults, and reports whether it existed. With another UID, or if it is
// "", there is no such object.
func Delete[T Object](s *Server, namespace, name, uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	resource := s.resourceOf(none)
	before := s.store(resource).objects[key(namespace, name)]
	if before == nil || string(before.GetUID()) != uid {
		return false
	}
	s.remove(resource, before)
	return true
}

// List returns the objects of a type in order of their names. They must not be changed.
func List[T Object](s *Server) (all []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	stored := s.store(s.resourceOf(none)).objects
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		all = append(all, stored[key].Object.(T))
	}
	return all
}

// The caller of the methods below holds s.mu, unless they say otherwise.

func (s *Server) store(resource schema.GroupResource) *store {
	stored, ok := s.mu.stores[resource]
	if !ok {
		stored = &store{objects: map[string]*version{}, watchers: map[*watcher]bool{}}
		s.mu.stores[resource] = stored
	}
	return stored
}

// put stores an object, which becomes immutable, and returns its version.
func (s *Server) put(resource schema.GroupResource, before *version, o Object) *version {
	s.mu.version++
	o.SetResourceVersion(strconv.FormatUint(s.mu.version, 10))
	o.GetObjectKind().SetGroupVersionKind(s.kinds[resource])
	now := &version{Object: o, number: s.mu.version}
	s.store(resource).objects[key(o.GetNamespace(), o.GetName())] = now
	s.record(resource, change{before: before, after: now})
	return now
}

func (s *Server) remove(resource schema.GroupResource, before *version) {
	s.mu.version++
	last := before.DeepCopyObject().(Object)
	last.SetResourceVersion(strconv.FormatUint(s.mu.version, 10))
	delete(s.store(resource).objects, key(before.GetNamespace(), before.GetName()))
	s.record(resource, change{before: before, after: &version{Object: last, number: s.mu.version}, deleted: true})
}

func (s *Server) record(resource schema.GroupResource, c change) {
	to := s.store(resource)
	to.log = append(to.log, c)
	if len(to.log) > 2*history {
		to.dropped = to.log[history-1].after.number
		to.log = slices.Clone(to.log[history:])
	}
	for w := range to.watchers {
		w.notify()
	}
	if s.Observe == nil {
		return
	}
	var told Change
	if c.before != nil {
		told.Before = c.before.Object
	}
	if !c.deleted {
		told.After = c.after.Object
	}
	s.Observe(told)
}

// since returns the changes after a version, and false if the log no longer has them all.
func (t *store) since(number uint64) ([]change, bool) {
	i, _ := slices.BinarySearchFunc(t.log, number+1, func(c change, n uint64) int { return int(int64(c.after.number) - int64(n)) })
	return t.log[i:], number >= t.dropped
}

// at returns the objects as they were after a version of the log, in order of their keys.
func (t *store) at(number uint64) (all []*version) {
	old := maps.Clone(t.objects)
	later, _ := t.since(number)
	for _, c := range slices.Backward(later) {
		k := key(c.after.GetNamespace(), c.after.GetName())
		if c.before == nil {
			delete(old, k)
		} else {
			old[k] = c.before
		}
	}
	for _, k := range slices.Sorted(maps.Keys(old)) {
		all = append(all, old[k])
	}
	return all
}

// resourceOf returns the resource of objects of a type. It needs no lock.
func (s *Server) resourceOf(o Object) schema.GroupResource {
	return s.resources[reflect.TypeOf(o).Elem()]
}

func key(namespace, name string) string { return namespace + "/" + name }

// selection is which objects a client lists or watches.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func newSelection(namespace, byLabels, byFields string) (selection, error) {
	l, err := labels.Parse(byLabels)
	if err != nil {
		return selection{}, err
	}
	f, err := fields.ParseSelector(byFields)
	return selection{namespace, l, f}, err
}

// has reports whether an object is selected.
func (s selection) has(v *version) bool {
	if v == nil || s.namespace != "" && s.namespace != v.GetNamespace() || !s.labels.Matches(labels.Set(v.GetLabels())) {
		return false
	}
	if s.fields.Empty() {
		return true
	}
	set := fields.Set{"metadata.name": v.GetName(), "metadata.namespace": v.GetNamespace()}
	if pod, ok := v.Object.(*corev1.Pod); ok {
		set["spec.nodeName"], set["spec.schedulerName"], set["status.phase"] = pod.Spec.NodeName, pod.Spec.SchedulerName, string(pod.Status.Phase)
	}
	return s.fields.Matches(set)
}

// encode returns an object in a media type. It needs no lock.
func (s *Server) encode(o runtime.Object, media string) []byte {
	info, ok := runtime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), media)
	if !ok {
		panic("unknown media type " + media)
	}
	var b bytes.Buffer
	if err := info.Serializer.Encode(o, &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// encoding returns an object's version in a media type.
func (s *Server) encoding(v *version, media string) []byte {
	if v.encoded == nil {
		v.encoded = map[string][]byte{}
	}
	if v.encoded[media] == nil {
		v.encoded[media] = s.encode(v.Object, media)
	}
	return v.encoded[media]
}

// mediaType returns the first media type of an Accept header that the server has, and whether only
// metadata is wanted.
func mediaType(accept string) (media string, onlyMetadata bool) {
	first, _, _ := strings.Cut(accept, ",")
	media, _, _ = strings.Cut(first, ";")
	if media != runtime.ContentTypeProtobuf {
		media = runtime.ContentTypeJSON
	}
	return media, strings.Contains(first, "as=PartialObjectMetadata")
}
