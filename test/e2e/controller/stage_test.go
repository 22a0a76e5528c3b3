//go:build e2e

package controller

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// stage runs one case of TestParity with one scheduler.
type stage struct {
	*world
	scheduler string
	objects   dynamic.Interface
	kinds     meta.RESTMapper
	made      []*unstructured.Unstructured
	pods      []string // pods that the scheduler has to place
}

func newStage(t *testing.T, w *world, scheduler string) *stage {
	t.Helper()
	own := *w
	own.T = t
	s := &stage{world: &own, scheduler: scheduler}
	config, err := w.Config()
	s.must(err)
	s.objects, err = dynamic.NewForConfig(config)
	s.must(err)
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	s.must(err)
	t.Cleanup(s.clear)
	s.kinds = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover))
	return s
}

// play applies the sections of a case in order. Before each section it waits until all earlier pods
// have a node or a reason why they have none. It deletes the objects of a section named "delete",
// and applies those of all other sections. Nodes and Pods get default values for fields that they
// leave out.
func (s *stage) play(sections []txtar.File) {
	s.Helper()
	for _, section := range sections {
		s.awaitVerdicts()
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(section.Data), 4096)
		for {
			object := &unstructured.Unstructured{}
			err := decoder.Decode(&object.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			s.must(err)
			if section.Name == "delete" {
				s.delete(object)
			} else {
				s.apply(s.complete(object))
			}
		}
	}
}

// complete adds default values to a Node or a Pod.
func (s *stage) complete(object *unstructured.Unstructured) *unstructured.Unstructured {
	switch object.GetKind() {
	case "Node":
		object.SetAPIVersion("v1")
		usual(object.Object, map[string]any{"metadata": map[string]any{"labels": map[string]any{corev1.LabelHostname: object.GetName()}},
			"status": map[string]any{"allocatable": map[string]any{"cpu": "4", "memory": "8Gi", "pods": "10", "ephemeral-storage": "10Gi"},
				"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}})
		status := object.Object["status"].(map[string]any)
		status["capacity"] = status["allocatable"]
	case "Pod":
		object.SetAPIVersion("v1")
		usual(object.Object, map[string]any{"metadata": map[string]any{"namespace": "default"}, "spec": map[string]any{
			"schedulerName": s.scheduler, "terminationGracePeriodSeconds": int64(0),
			"containers": []any{map[string]any{"name": "main", "image": "none"}},
		}})
		if name, _, _ := unstructured.NestedString(object.Object, "spec", "schedulerName"); strings.HasPrefix(name, "+") { // + stands for the name of the scheduler
			s.must(unstructured.SetNestedField(object.Object, s.scheduler+"-"+name[1:], "spec", "schedulerName"))
		}
		_, placed, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
		if !placed && !slices.Contains(s.pods, object.GetName()) {
			s.pods = append(s.pods, object.GetName())
		}
	}
	return object
}

// usual adds default values to an object, for the fields that the object does not have.
func usual(object, defaults map[string]any) {
	for key, value := range defaults {
		inner, isMap := object[key].(map[string]any)
		if deeper, ok := value.(map[string]any); ok && isMap {
			usual(inner, deeper)
		} else if object[key] == nil {
			object[key] = value
		}
	}
}

func (s *stage) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	s.Helper()
	kind := object.GroupVersionKind()
	mapping, err := s.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	s.must(err)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.objects.Resource(mapping.Resource)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace("default")
	}
	return s.objects.Resource(mapping.Resource).Namespace(object.GetNamespace())
}

func (s *stage) apply(object *unstructured.Unstructured) {
	s.Helper()
	options := metav1.ApplyOptions{FieldManager: "parity", Force: true}
	_, err := s.resource(object).Apply(s.ctx, object.GetName(), object, options)
	s.must(err)
	if object.Object["status"] != nil {
		_, err = s.resource(object).ApplyStatus(s.ctx, object.GetName(), object, options)
		s.must(err)
	}
	s.made = append(s.made, object)
}

func (s *stage) delete(object *unstructured.Unstructured) {
	s.Helper()
	if object.GetAPIVersion() == "" {
		object.SetAPIVersion("v1")
	}
	err := s.resource(object).Delete(s.ctx, object.GetName(), *metav1.NewDeleteOptions(0))
	if err != nil && !apierrors.IsNotFound(err) {
		s.must(err)
	}
}

// clear deletes all created objects, the last ones first, and waits until they are gone. Namespaces
// remain, because no controller runs that would delete their contents.
func (s *stage) clear() {
	s.Helper()
	s.made = slices.DeleteFunc(s.made, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	for _, object := range slices.Backward(s.made) {
		s.delete(object)
	}
	now, all := *metav1.NewDeleteOptions(0), metav1.ListOptions{} // the two calls below also delete the claims that kube-controller-manager created for pods
	s.must(s.api.CoreV1().PersistentVolumeClaims("default").DeleteCollection(s.ctx, now, all))
	s.must(s.api.ResourceV1().ResourceClaims("default").DeleteCollection(s.ctx, now, all))
	for _, object := range s.made {
		s.await(object.GetKind()+" "+object.GetName()+" is gone", func() bool {
			_, err := s.resource(object).Get(s.ctx, object.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// awaitVerdicts waits until every pod has a node or a reason why it has none. It waits at most 30
// seconds.
func (s *stage) awaitVerdicts() {
	s.Helper()
	for deadline := time.Now().Add(30 * time.Second); strings.Contains(s.verdicts(), ": ?\n"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return // the test later fails because the verdicts differ
		}
	}
}

// verdicts returns a line for each pod: its node, or the reason why it has none, or "?" if the
// scheduler has not tried it yet.
func (s *stage) verdicts() string {
	s.Helper()
	list, err := s.api.CoreV1().Pods("default").List(s.ctx, metav1.ListOptions{})
	s.must(err)
	said := map[string]string{}
	for _, name := range s.pods {
		said[name] = "gone"
	}
	for i := range list.Items {
		if pod := &list.Items[i]; said[pod.Name] != "" {
			said[pod.Name] = verdict(pod)
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(&b, "%s: %s\n", name, said[name])
	}
	return b.String()
}

func verdict(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return "on " + pod.Spec.NodeName
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return plain(c.Message)
		}
	}
	return "?"
}
