package agent

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/pkg/gpu"
)

// holdersInterval is the time between two requests to the kubelet for the list of pods with
// devices. If a pod changes, the agent asks the kubelet earlier.
const holdersInterval = 2 * time.Second

// holdersPause is the shortest time between two such requests. The kubelet limits the requests of all
// clients on the node together, and the device plugin must get its answers while pods are admitted.
const holdersPause = 100 * time.Millisecond

// gpuHolders finds out which pods hold the node's GPUs. It has two sources. The first is the
// kubelet, which lists the devices of a pod's app containers and sidecars as soon as it admits the
// pod. The kubelet does not list the devices of init containers that are not sidecars. The second
// source is package node, which knows the devices of an init container as soon as the container is
// created. The checkpoint file of the kubelet's device manager lists the devices of all containers.
// gpuHolders does not read this file, because its format is internal to the kubelet.
type gpuHolders struct {
	list    func(context.Context) ([]kubelet.PodDevices, error) // the devices that the kubelet lists
	created func() []v1alpha1.GPUHolder                         // the pods whose created containers have GPUs, from package node
	pods    func() []*corev1.Pod                                // the pods of this node, from the API server
	known   func() *gpu.Inventory
	changed func() // called when the field `latest` has changed

	wake chan struct{}
	mu   struct {
		sync.Mutex
		latest []v1alpha1.GPUHolder
	}
}

// newGPUHolders sets a.holders, which finds the pods that hold GPUs. The agent publishes these pods
// in the NodeTopology, the custom resource in which it describes this node.
func (a *agent) newGPUHolders() {
	if a.gpus == nil || a.cluster == nil {
		return
	}
	a.holders = &gpuHolders{
		list: func(ctx context.Context) ([]kubelet.PodDevices, error) {
			return kubelet.ListDevices(ctx, a.cfg.KubeletDir)
		},
		created: a.node.GPUHolders, pods: a.pods.All, known: a.gpus.latest, changed: a.cluster.notify,
		wake: make(chan struct{}, 1),
	}
}

// notify makes the method `run` read again which pods hold GPUs. It is called when a pod has
// changed or ended, and does not block.
func (h *gpuHolders) notify() {
	if h == nil {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default: // a read is already requested
	}
}

// latest returns the pods that held GPUs at the last read, ordered by UID.
func (h *gpuHolders) latest() []v1alpha1.GPUHolder {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.latest
}

// run regularly reads which pods hold GPUs, until ctx ends.
func (h *gpuHolders) run(ctx context.Context) error {
	ticker := time.NewTicker(holdersInterval)
	defer ticker.Stop()
	var listed []kubelet.PodDevices
	failed := false
	for {
		now, err := h.list(ctx)
		if err != nil && !failed {
			logr.FromContextOrDiscard(ctx).Error(err, "cannot list which pods hold GPUs; the NodeTopology may lack some until the kubelet answers")
		}
		failed = err != nil
		listed = h.keep(listed, now, err == nil)
		h.set(h.merge(listed))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(holdersPause):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-h.wake:
		}
	}
}

// keep returns the list `now`, and those pods of the list `before` that `now` lacks and that have not
// ended. A kubelet that has restarted lists no pods until it has read them from the API server. If
// the kubelet has answered, keep leaves out pods that the API server does not have any more. If the
// kubelet has not answered, `now` is empty, and such a pod may be a static pod that still runs.
func (h *gpuHolders) keep(before, now []kubelet.PodDevices, answered bool) []kubelet.PodDevices {
	byName, all := h.podsByName(), slices.Clone(now)
	for _, p := range before {
		isListed := slices.ContainsFunc(now, func(other kubelet.PodDevices) bool { return other.Namespace == p.Namespace && other.Name == p.Name })
		pod := byName[p.Namespace+"/"+p.Name]
		if runs := pod != nil && !v1alpha1.Ended(pod) || pod == nil && !answered; runs && !isListed {
			all = append(all, p)
		}
	}
	return all
}

// podsByName returns the pods of this node, by namespace/name.
func (h *gpuHolders) podsByName() map[string]*corev1.Pod {
	byName := map[string]*corev1.Pod{}
	for _, pod := range h.pods() {
		byName[pod.Namespace+"/"+pod.Name] = pod
	}
	return byName
}

func (h *gpuHolders) set(now []v1alpha1.GPUHolder) {
	h.mu.Lock()
	same := reflect.DeepEqual(now, h.mu.latest)
	h.mu.latest = now
	h.mu.Unlock()
	if !same {
		h.changed()
	}
}

// merge combines two lists of pods with GPUs: the list of the kubelet, and the list of package
// node. It keeps pods that have ended. If the kubelet lists devices of such a pod, they are not free
// for the kubelet yet, and it would fail another pod that needs them (UnexpectedAdmissionError). A
// pod that the agent has rejected is in this state until the kubelet has stopped its containers. If
// package node lists an ended pod, the pod may still have processes.
// Source: isPodInactive in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet_pods.go
func (h *gpuHolders) merge(listed []kubelet.PodDevices) []v1alpha1.GPUHolder {
	byName, byUID := h.podsByName(), map[string]v1alpha1.GPUHolder{}
	add := func(one v1alpha1.GPUHolder) {
		if other, taken := byUID[one.UID]; taken && (other.Namespace != one.Namespace || other.Name != one.Name) {
			// Two pods have this UID. NodeUID reads the UID of a mirror pod from an annotation,
			// which a user can set to the UID of another pod. Namespace and name together are
			// always unique, so they replace the UID of the pod in `one`.
			one.UID = one.Namespace + "/" + one.Name
		}
		one.Devices = append(one.Devices, byUID[one.UID].Devices...)
		slices.Sort(one.Devices)
		one.Devices = slices.Compact(one.Devices)
		byUID[one.UID] = one
	}
	for _, p := range listed {
		name := p.Namespace + "/" + p.Name
		one := v1alpha1.GPUHolder{UID: name, Namespace: p.Namespace, Name: p.Name, Devices: h.gpus(p.Devices)}
		if pod := byName[name]; pod != nil {
			one.UID = v1alpha1.NodeUID(pod)
		}
		if len(one.Devices) > 0 {
			add(one)
		}
	}
	for _, one := range h.created() {
		add(one)
	}
	return slices.SortedFunc(maps.Values(byUID), func(a, b v1alpha1.GPUHolder) int { return cmp.Compare(a.UID, b.UID) })
}

// gpus filters device IDs: it returns only the IDs of the node's GPUs.
func (h *gpuHolders) gpus(ids []string) (found []string) {
	known := h.known()
	for _, id := range ids {
		if _, is := known.Find(v1alpha1.GPUOf(id)); is {
			found = append(found, id)
		}
	}
	return found
}
