package mirror

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Panicked is called when the handling of an object has panicked. object is, for example,
// "*v1.Pod default/a".
type Panicked func(object string, cause any)

// Contain returns a handler that reports panics of h and continues with the next object.
//
// client-go ends the process when a handler panics. The object that causes a panic is also in the
// first list of the next process. So every replica would end again and again, and no pods would be
// scheduled until somebody finds that object. With Contain, only that object is ignored, or is read
// only in part, until its next change. Everything else stays valid: locks are released by defer,
// and records are replaced as a whole.
//
// controller-runtime does the same for reconcilers, and package pipeline for proposers and the
// committer.
func Contain(h cache.ResourceEventHandler, report Panicked) cache.ResourceEventHandler {
	contained := func(obj any, handle func()) {
		defer func() {
			if cause := recover(); cause != nil {
				report(nameOf(obj), cause)
			}
		}()
		handle()
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { contained(obj, func() { h.OnAdd(obj, initial) }) },
		UpdateFunc: func(before, obj any) { contained(obj, func() { h.OnUpdate(before, obj) }) },
		DeleteFunc: func(obj any) { contained(obj, func() { h.OnDelete(obj) }) },
	}
}

func nameOf(obj any) string {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	o, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Sprintf("%T", obj)
	}
	if o.GetNamespace() == "" {
		return fmt.Sprintf("%T %s", obj, o.GetName())
	}
	return fmt.Sprintf("%T %s/%s", obj, o.GetNamespace(), o.GetName())
}
