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

// Watch lets informers call changed after something has changed that filters look
// at beside nodes and pods: claims, what they are met with, and namespaces. Pods
// whose fit depends on it say so (Pod.Across). It starts no informer.
//
// It calls it at once and again a second later: plugins that assume claims of volumes
// and devices learn of them by handlers of their own, which may be later than this one,
// and those of volumes let nobody wait for them.
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

// twice returns what calls f, and again a second later, then once for all calls since.
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
