package mirror

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Panicked is called when the code that handles an object panics. The parameter `object` has the
// form "*v1.Pod default/a".
type Panicked func(object string, cause any)

// Contain returns an event handler that calls h. If h panics for an object, the handler reports the
// panic and continues with the next object.
//
// Without Contain, client-go would end the process when an event handler panics. The object that
// caused the panic would also be in the initial list of the next process. So every replica would
// end again and again, and no pods would be scheduled until somebody removes this object. With
// Contain, the object is ignored, or read only in part, until its next change. All other data stays
// valid, because locks are released by defer, and records are replaced as a whole.
//
// Contain is for event handlers. controller-runtime recovers panics of reconcilers, and package
// pipeline recovers panics of the scheduling goroutines (proposers, committer and binders).
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
