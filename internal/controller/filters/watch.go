package filters

import (
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Watch calls changed after a change of anything that filters read besides nodes and pods:
// claims, volumes, devices and namespaces. Pods whose fit depends on these have Pod.Across.
// Watch starts no informer.
//
// It calls changed at once and again a second later, because the plugins of volumes and
// devices update their own caches by handlers that may run later than this one, without a
// way to wait for them.
func Watch(factory informers.SharedInformerFactory, changed func()) error {
	storage, devices, core := factory.Storage().V1(), factory.Resource().V1(), factory.Core().V1()
	changed = twice(changed)
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() },
		UpdateFunc: func(before, now any) {
			if before.(metav1.Object).GetResourceVersion() != now.(metav1.Object).GetResourceVersion() {
				changed()
			}
		},
		DeleteFunc: func(any) { changed() },
	}
	var errs []error
	for what, informer := range map[string]cache.SharedIndexInformer{
		"namespaces": core.Namespaces().Informer(),
		"volumes":    core.PersistentVolumes().Informer(), "volume claims": core.PersistentVolumeClaims().Informer(),
		"storage classes": storage.StorageClasses().Informer(), "storage capacities": storage.CSIStorageCapacities().Informer(),
		"drivers": storage.CSIDrivers().Informer(), "drivers of nodes": storage.CSINodes().Informer(),
		"attachments":   storage.VolumeAttachments().Informer(),
		"device claims": devices.ResourceClaims().Informer(), "devices": devices.ResourceSlices().Informer(),
		"device classes": devices.DeviceClasses().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			errs = append(errs, fmt.Errorf("watch %s: %w", what, err))
		}
	}
	return errors.Join(errs...)
}

// twice returns a function that calls f at once, and once more a second later for all calls
// since.
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
