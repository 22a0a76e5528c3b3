package apisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// write applies a request to the stored objects. It returns the object with which the server
// answers, or an error that implements APIStatus.
func (s *Server) write(r *request) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.verb == "create" && r.resource.Resource == "events":
		s.Event(r.object.(Object))
		return r.object, nil
	case r.verb == "create" && r.sub == "binding":
		return s.bind(r)
	case r.verb == "create" && r.resource.Resource == "configmaps":
		return nil, apierrors.NewForbidden(r.resource, r.name, errors.New("denied by ValidatingAdmissionPolicy"))
	case r.verb == "create":
		return s.create(r)
	case r.verb == "update":
		return s.update(r)
	case r.verb == "patch":
		return s.patch(r)
	}
	return nil, apierrors.NewMethodNotSupported(r.resource, r.verb)
}

// get returns the newest version of an object.
func (s *Server) get(r *request) (*version, error) {
	if found := s.store(r.resource).objects[key(r.namespace, r.name)]; found != nil {
		return found, nil
	}
	return nil, apierrors.NewNotFound(r.resource, r.name)
}

func (s *Server) create(r *request) (runtime.Object, error) {
	o := r.object.(Object)
	if _, err := s.get(&request{resource: r.resource, namespace: o.GetNamespace(), name: o.GetName()}); err == nil {
		return nil, apierrors.NewAlreadyExists(r.resource, o.GetName())
	}
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.mu.version)))
	o.SetCreationTimestamp(metav1.Now())
	return s.put(r.resource, nil, o).Object, nil
}

func (s *Server) update(r *request) (runtime.Object, error) {
	before, err := s.get(r)
	if err != nil {
		return nil, err
	}
	o := r.object.(Object)
	if err := precondition(r, before, string(o.GetUID()), o.GetResourceVersion()); err != nil {
		return nil, err
	}
	return s.put(r.resource, before, o).Object, nil
}

// precondition returns a Conflict if the UID or the resource version of the object differs from the
// one that the client expects (the parameters `uid` and `number`). The client can leave either one
// empty: then any value matches.
func precondition(r *request, of *version, uid, number string) error {
	switch {
	case uid != "" && uid != string(of.GetUID()):
		return apierrors.NewConflict(r.resource, r.name, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", uid, of.GetUID()))
	case number != "" && number != of.GetResourceVersion():
		return apierrors.NewConflict(r.resource, r.name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// patch applies a strategic merge patch to the status of a pod. It refuses all other patches.
func (s *Server) patch(r *request) (runtime.Object, error) {
	before, err := s.get(r)
	if err != nil {
		return nil, err
	}
	if r.contentType != string(types.StrategicMergePatchType) || r.sub != "status" {
		return nil, apierrors.NewBadRequest("apisim has only strategic merge patches of statuses, not " + r.contentType)
	}
	var wants struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(r.body, &wants); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := precondition(r, before, string(wants.Metadata.UID), wants.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	pod, ok := before.Object.(*corev1.Pod)
	if !ok {
		return nil, apierrors.NewBadRequest("apisim patches only pods")
	}
	status, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	if status, err = strategicpatch.StrategicMergePatch(status, r.body, corev1.Pod{}); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var patched corev1.Pod
	if err := json.Unmarshal(status, &patched); err != nil {
		return nil, err
	}
	now := pod.DeepCopy()
	now.Status = patched.Status
	return s.put(r.resource, before, now).Object, nil
}

// bind binds a pod to a node, as the API server does for a Binding.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/storage/storage.go, setPodNodeAndMetadata.
func (s *Server) bind(r *request) (runtime.Object, error) {
	before, err := s.get(r)
	if err != nil {
		return nil, err
	}
	binding, old := r.object.(*corev1.Binding), before.Object.(*corev1.Pod)
	if err := precondition(r, before, string(binding.UID), binding.ResourceVersion); err != nil {
		return nil, err
	}
	refuse := func(why string) (runtime.Object, error) {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, r.name, errors.New(why))
	}
	switch {
	case old.DeletionTimestamp != nil:
		return refuse("pod " + r.name + " is being deleted, cannot be assigned to a host")
	case old.Spec.NodeName != "":
		s.Refused(old, binding)
		return refuse(fmt.Sprintf("pod %s is already assigned to node %q", r.name, old.Spec.NodeName))
	}
	pod := old.DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, binding.Annotations)
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now())})
	s.put(r.resource, before, pod)
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: 201}, nil
}
