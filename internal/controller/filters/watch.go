package filters

import (
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/pkg/sched"
)

// Watch retries waiting pods (it calls `notify`) after changes of the objects that filters read
// besides nodes and pods: claims, volumes, devices and Namespaces. Only pods with required
// (anti-)affinity, required topology spread, volumes or devices (sched.Pod.Across) are retried for
// such changes. Watch does not start the informers.
//
// Watch calls `notify` at once after a change, and again a second later. The plugins for volumes
// and devices have caches, which their own event handlers update. These handlers may run later than
// those of Watch, and nothing tells when they have run. So a pod may be retried too early by the
// first call, and is retried by the second.
func Watch(factory informers.SharedInformerFactory, notify Notify) error {
	storage, devices, core := factory.Storage().V1(), factory.Resource().V1(), factory.Core().V1()
	claims, names := announcing(notify, topicClaims), announcing(notify, topicNamespaces)
	_, err := core.Namespaces().Informer().AddEventHandler(names)
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	var errs []error
	for what, informer := range map[string]cache.SharedIndexInformer{
		"volumes": core.PersistentVolumes().Informer(), "volume claims": core.PersistentVolumeClaims().Informer(),
		"storage classes": storage.StorageClasses().Informer(), "storage capacities": storage.CSIStorageCapacities().Informer(),
		"drivers": storage.CSIDrivers().Informer(), "drivers of nodes": storage.CSINodes().Informer(),
		"attachments":   storage.VolumeAttachments().Informer(),
		"device claims": devices.ResourceClaims().Informer(), "devices": devices.ResourceSlices().Informer(),
		"device classes": devices.DeviceClasses().Informer(),
	} {
		if _, err := informer.AddEventHandler(claims); err != nil {
			errs = append(errs, fmt.Errorf("watch %s: %w", what, err))
		}
	}
	return errors.Join(errs...)
}

// announcing returns an event handler that calls `notify` with the given topic after each change of
// an object.
func announcing(notify Notify, topic sched.Topic) cache.ResourceEventHandler {
	changed := twice(func() { notify([]sched.Topic{topic}, nil) })
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() },
		UpdateFunc: func(before, now any) {
			if before.(metav1.Object).GetResourceVersion() != now.(metav1.Object).GetResourceVersion() {
				changed()
			}
		},
		DeleteFunc: func(any) { changed() },
	}
}

// twice returns a function that calls f at once, and once more after a second. If the function is
// called again within that second, it calls f at once again, but there is still only one later
// call.
func twice(f func()) func() {
	var mu sync.Mutex
	due := false
	later := func() {
		mu.Lock()
		due = false
		mu.Unlock()
		f()
	}
	return func() {
		f()
		mu.Lock()
		defer mu.Unlock()
		if !due {
			due = true
			time.AfterFunc(time.Second, later)
		}
	}
}
