package mirror

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// Newest has the largest resource version among the pods that the mirror has handled. The resource
// versions of all pods are one sequence of numbers, which grow with each change of any pod. A
// watch delivers events in the order of these numbers.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
type Newest struct{ version atomic.Uint64 }

// track returns a handler that calls h and then records the resource version of the object. The
// handler needs no lock, because an informer calls a handler from one goroutine.
func (n *Newest) track(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { h.OnAdd(obj, initial); n.note(obj) },
		UpdateFunc: func(before, obj any) { h.OnUpdate(before, obj); n.note(obj) },
		DeleteFunc: func(obj any) { h.OnDelete(obj); n.note(obj) },
	}
}

func (n *Newest) note(obj any) {
	if o, ok := obj.(metav1.Object); ok {
		n.version.Store(max(n.version.Load(), version(o)))
	}
}

// version returns the resource version of an object as a number, or 0 if it is not a number.
func version(o metav1.Object) uint64 {
	v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// relistAfter is the longest time for which CatchUp waits until the mirror has handled the newest
// resource version in a list of pods. After this time, CatchUp lists the pods again.
const relistAfter = time.Second

// patience is how long CatchUp waits for bound pods that are not assigned to nodes although the mirror
// has handled the newest version. It does not wait for ever, because the mirror drops a pod if it
// panics when it handles the pod, and one such pod must not keep all others from being scheduled.
const patience = 10 * time.Second

// CatchUp waits until the mirror has handled every Binding that the API server has stored before
// the call. A new leader calls it, because even a synced informer may not have received the last
// Bindings of the former leader yet. CatchUp lists the metadata of all bound pods, possibly
// several times. The function `holds` reports whether a pod with a UID is assigned to a node in the
// state of the nodes. All pods in the list must be, because the resource version alone does not
// suffice: while an informer lists its pods again, it passes them to the mirror in another order than
// that of their versions.
//
// CatchUp lists the pods again after relistAfter, because the informer may never get an event with
// the newest version in the list, or a pod in the list may have ended. The former happens if the
// newest pod is deleted while the informer lists pods.
//
// If a list fails, CatchUp logs the error, and lists the pods again after relistAfter. An API
// server that is overloaded for a moment must not end the process of a new leader: the next leader
// would have to list the pods, too. CatchUp returns an error if ctx is done, or if this process has
// no permission to list pods.
func (n *Newest) CatchUp(ctx context.Context, client metadata.Interface, holds func(uid string) bool) error {
	for began := time.Now(); ; {
		newest, bound, err := listBound(ctx, client)
		if err != nil {
			if ctx.Err() != nil || apierrors.IsForbidden(err) {
				return fmt.Errorf("list bound pods: %w", err)
			}
			logr.FromContextOrDiscard(ctx).Error(err, "the bound pods could not be listed; they are listed again", "after", relistAfter.String())
			newest = math.MaxUint64 // no version is so large, so the next step waits for relistAfter, and then the pods are listed again
		}
		unhandled := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, relistAfter, true, func(context.Context) (bool, error) {
			if n.version.Load() < newest {
				return false, nil
			}
			bound = slices.DeleteFunc(bound, holds)
			return len(bound) == 0, nil
		})
		if unhandled == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the last binds: %w", ctx.Err())
		}
		if n.version.Load() >= newest && time.Since(began) >= patience {
			logr.FromContextOrDiscard(ctx).Error(nil, "bound pods are not known yet; scheduling begins without them", "uids", bound)
			return nil
		}
	}
}

// listBound returns the largest resource version of all bound pods that have not ended, and the UIDs
// of these pods.
func listBound(ctx context.Context, client metadata.Interface) (newest uint64, uids []string, err error) {
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) })
	list.PageSize = 5000
	bound := metav1.ListOptions{FieldSelector: "spec.nodeName!=," + living}
	err = list.EachListItem(ctx, bound, func(obj runtime.Object) error {
		pod := obj.(metav1.Object)
		newest, uids = max(newest, version(pod)), append(uids, string(pod.GetUID()))
		return nil
	})
	return newest, uids, err
}
