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

// Change is a change of an object. Before is nil if the object was created, and After is nil if
// the object was deleted.
type Change struct{ Before, After Object }

// The server keeps at least the last 200 changes (history) of each resource: when it has more
// than twice as many, it drops the 200 oldest. A watch cannot start at a resource version that
// is older than the kept changes.
const history = 200

// Server is the fake API server. Its methods are safe for concurrent use.
type Server struct {
	// Observe is called with each change of an object, one call at a time and in the order of the
	// changes. It must not change the objects, and must not call the server.
	Observe func(Change)
	// Event is called with each event that a client creates. Like Observe, it must not change the
	// object or call the server.
	Event func(Object)
	// Refused is called with each Binding that the server refuses because the pod is already
	// bound. Like Observe, it must not change the objects or call the server.
	Refused func(*corev1.Pod, *corev1.Binding)
	// Trace is called with each request that reaches the server. Its arguments are the class of the
	// request, the namespace and name of the object, and the fault, or "" if the request has none.
	// Trace may be nil.
	Trace func(class, namespace, name, fault string)

	scheme    *runtime.Scheme
	codecs    serializer.CodecFactory
	faults    *Faults
	kinds     map[schema.GroupResource]schema.GroupVersionKind
	resources map[reflect.Type]schema.GroupResource

	mu struct {
		sync.Mutex
		version uint64 // resource version of the newest object
		stores  map[schema.GroupResource]*store
	}
}

// store has the objects of one resource.
type store struct {
	objects  map[string]*version // by namespace and name (see the function `key`)
	log      []change            // the last changes, at most 2 × the constant `history`
	dropped  uint64              // resource version of the last change that was removed from the log
	watchers map[*watcher]bool
}

// version is one version of an object. It never changes, except that the method `encoding` adds to
// the field `encoded`.
type version struct {
	Object
	number  uint64
	encoded map[string][]byte // the encoded object, by media type
}

// change is an entry of the log of changes. For a deletion, the field `after` has the same state of
// the object as the field `before`, but with the resource version of the deletion.
type change struct {
	before, after *version
	deleted       bool
}

// New returns a server without objects. It serves all types of a scheme.
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

// preferred reports whether the server uses the API version a rather than b. For example, it
// prefers v1 to v1beta1.
func preferred(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a > b }

// Create adds an object. Tests call it directly, so no fault is injected. It panics if an object
// with this name exists.
func (s *Server) Create(o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := s.resourceOf(o)
	if s.store(resource).objects[key(o.GetNamespace(), o.GetName())] != nil {
		panic(fmt.Sprintf("%v %s exists", resource, o.GetName()))
	}
	s.put(resource, nil, o.DeepCopyObject().(Object))
}

// Update changes an object, and reports whether the object exists. The function given as `edit`
// changes a copy of the object. If this function returns false, the copy is discarded and the
// object stays as it is. Tests call Update directly, so no fault is injected.
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

// Delete deletes an object, and reports whether it did. Tests call it directly, so no fault is
// injected. If the object has another UID than the one given as `uid`, Delete does nothing and
// returns false.
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

// List returns the objects of a type, ordered by namespace and name. The caller must not change
// these objects.
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

// The callers of all methods below must hold s.mu, unless the comment of a method says otherwise.

func (s *Server) store(resource schema.GroupResource) *store {
	stored, ok := s.mu.stores[resource]
	if !ok {
		stored = &store{objects: map[string]*version{}, watchers: map[*watcher]bool{}}
		s.mu.stores[resource] = stored
	}
	return stored
}

// put stores an object and returns its new version. The parameter `before` is the version that it
// replaces, or nil for a new object. The caller must not change the object after the call.
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

// The method `since` returns the changes after a resource version. It returns false if the log no
// longer has all of these changes.
func (t *store) since(number uint64) ([]change, bool) {
	i, _ := slices.BinarySearchFunc(t.log, number+1, func(c change, n uint64) int { return int(int64(c.after.number) - int64(n)) })
	return t.log[i:], number >= t.dropped
}

// The method `at` returns the objects as they were at a resource version, ordered by key. The log
// must still have all changes after this version.
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

// resourceOf returns the resource of an object's type. The caller need not hold s.mu.
func (s *Server) resourceOf(o Object) schema.GroupResource {
	return s.resources[reflect.TypeOf(o).Elem()]
}

func key(namespace, name string) string { return namespace + "/" + name }

// selection says which objects of a resource a client lists or watches.
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

// has reports whether the selection includes an object.
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

// encode returns an object encoded in a media type, such as JSON. The caller need not hold s.mu.
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

// encoding returns a version of an object encoded in a media type. It encodes each version only
// once for each media type.
func (s *Server) encoding(v *version, media string) []byte {
	if v.encoded == nil {
		v.encoded = map[string][]byte{}
	}
	if v.encoded[media] == nil {
		v.encoded[media] = s.encode(v.Object, media)
	}
	return v.encoded[media]
}

// mediaType returns the media type of the answer to a request with this Accept header, and whether
// the client wants only metadata. The media type is protobuf if the header names it first, and
// otherwise JSON.
func mediaType(accept string) (media string, onlyMetadata bool) {
	first, _, _ := strings.Cut(accept, ",")
	media, _, _ = strings.Cut(first, ";")
	if media != runtime.ContentTypeProtobuf {
		media = runtime.ContentTypeJSON
	}
	return media, strings.Contains(first, "as=PartialObjectMetadata")
}
