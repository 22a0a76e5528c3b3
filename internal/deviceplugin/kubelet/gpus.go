package kubelet

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

// allocationGrace is the longest time that the kubelet may take, after a call of Allocate, to list
// the allocated device. The kubelet lists the devices of a pod once it has admitted the pod.
const allocationGrace = 30 * time.Second

// GPUOptions are the options of NewGPUs.
type GPUOptions struct {
	Latest   func() *gpu.Inventory
	Resource string // the resource of whole GPUs, such as "nvidia.com/gpu"
	Shares   int    // number of shares of each GPU; 0 for no shares
	HandOver HandOver
	Decider  *Decider // nil without a controller
	// Pods returns this node's pods. The result `known` is false until they have been read. Pods is
	// nil if the device plugin does not watch the pods.
	Pods func() (pods []*corev1.Pod, known bool)
	// Reserved reports whether a GPU is in a GPU group. The shares of such a GPU are unhealthy.
	// Reserved is nil without a controller, because then there are no GPU groups.
	Reserved func(uuid string) bool
	Changed  func() // is called when Allocate has changed which devices are healthy
	Now      func() time.Time
}

// GPUs is the Source of a node's GPUs. Whole GPUs are devices of the resource in the field Resource.
// Shares of GPUs are devices of the resource with this name and the suffix ".shared". MIG slices
// are devices of one resource per profile, such as nvidia.com/mig-1g.10gb. A device ID is a UUID,
// or "UUID::0" for the first share of a GPU. NVIDIA's own device plugin uses the same IDs, so
// monitoring tools understand them.
//
// If GPUs have shares, each GPU is offered both as a whole and in shares. While a GPU is allocated
// whole, its shares are listed as unhealthy. While a share is allocated, the whole GPU is listed as
// unhealthy. The kubelet learns of such a change with a delay. Until then, the method `choose`
// leaves out these devices, and `allocate` refuses them.
type GPUs struct {
	GPUOptions

	mu struct {
		sync.Mutex
		listed    map[string]bool                 // resources that the method `list` has returned so far
		held      map[string]bool                 // device IDs that containers hold, according to the last answers of the kubelet's pod resources API (see keepHeld)
		holders   map[string]types.NamespacedName // the pod that holds a device, by device ID, according to the last answer of this API that lists the pod
		elsewhere map[string]bool                 // IDs of GPUs and slices that containers hold under another resource name (see heldElsewhere)
		allocated map[string]*allocation          // by device ID
	}
}

// NewGPUs returns the Source of the node's GPUs. It has not listed any resource yet.
func NewGPUs(o GPUOptions) *GPUs {
	g := &GPUs{GPUOptions: o}
	g.mu.listed, g.mu.holders, g.mu.allocated = map[string]bool{}, map[string]types.NamespacedName{}, map[string]*allocation{}
	return g
}

func (g *GPUs) list(before previous) (map[string][]*pluginapi.Device, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.Latest()
	for _, unit := range v.Units() {
		g.mu.listed[g.resource(v, unit)] = true
		if g.sharesOf(unit) > 0 {
			g.mu.listed[g.sharedResource()] = true
		}
	}
	g.updateHeld(before)
	devices := map[string][]*pluginapi.Device{}
	for resource := range g.mu.listed {
		devices[resource] = nil
	}
	for _, unit := range v.Units() {
		resource := g.resource(v, unit)
		devices[resource] = append(devices[resource], g.device(v, unit, unit.ID, g.sharesInUse(unit.ID)))
		for i := range g.sharesOf(unit) {
			devices[g.sharedResource()] = append(devices[g.sharedResource()], g.device(v, unit, share(unit.ID, i), g.inUse(unit.ID) || g.reserved(unit.ID)))
		}
	}
	return devices, nil
}

// inUse reports whether a container has a device. Callers hold g.mu.
func (g *GPUs) inUse(id string) bool {
	_, allocated := g.mu.allocated[id]
	return allocated || g.mu.held[id]
}

// sharesInUse reports whether a container has a share of a GPU. The number of this share may be
// higher than that of any share that is offered now, if the GPU had more shares before the last
// restart of the device plugin. Callers hold g.mu.
func (g *GPUs) sharesInUse(uuid string) bool {
	is := func(id string) bool { return isShare(id) && v1alpha1.GPUOf(id) == uuid }
	for id := range g.mu.allocated {
		if is(id) {
			return true
		}
	}
	for id := range g.mu.held {
		if is(id) {
			return true
		}
	}
	return false
}

// reserved reports whether the shares of a GPU cannot be allocated because the GPU is in a GPU
// group, or because the groups are not known yet. The controller decides which pods get the GPUs of
// a group, and the device plugin tells the kubelet which whole GPUs the controller chose (see
// Decider). The controller chooses no shares, so the kubelet could give shares of a group's GPUs to
// any pod.
func (g *GPUs) reserved(uuid string) bool { return g.Reserved != nil && g.Reserved(uuid) }

// device returns a GPU, share or slice in the form in which the kubelet gets it. The parameter
// `otherForm` says that the device cannot be allocated now: it is a whole GPU of which a share is
// allocated, or a share of a GPU that is allocated whole or is in a GPU group. A device that a
// container has is listed as unhealthy only if it has a known fault. If its health is unknown, it
// is listed as healthy, because the kubelet may admit the device's pod a second time, for example
// after a reboot, and rejects a pod with an unhealthy device. This does not matter for a device that a
// container has under another resource name, so that such a device is always listed as unhealthy.
func (g *GPUs) device(inventory *gpu.Inventory, unit gpu.Unit, id string, otherForm bool) *pluginapi.Device {
	healthy := unit.Health.State == gpu.Healthy && !otherForm || unit.Health.State != gpu.Unhealthy && g.inUse(id)
	healthy = healthy && !g.mu.elsewhere[unit.ID]
	node := inventory.GPUs[unit.GPU].NUMA
	return newDevice(id, healthy, node, node >= 0 && node <= maxHintNode)
}

func (g *GPUs) owns(_, id string) bool {
	_, found := g.Latest().Find(v1alpha1.GPUOf(id))
	return found
}

// share returns the device ID of a share of a GPU. The parameter `ordinal` is the number of the share,
// counted from 0.
func share(uuid string, ordinal int) string {
	return fmt.Sprint(uuid, v1alpha1.GPUShareSeparator, ordinal)
}

func isShare(id string) bool { return strings.Contains(id, v1alpha1.GPUShareSeparator) }

// sharedResource returns the name of the resource of shares.
func (g *GPUs) sharedResource() string { return g.Resource + ".shared" }

// sharesOf returns the number of shares of a GPU. A MIG slice has none.
func (g *GPUs) sharesOf(unit gpu.Unit) int {
	if unit.Form != gpu.Physical {
		return 0
	}
	return g.Shares
}

// resource returns the name of the resource of a GPU or slice.
func (g *GPUs) resource(inventory *gpu.Inventory, unit gpu.Unit) string {
	if unit.Form == gpu.Physical {
		return g.Resource
	}
	domain, _, _ := strings.Cut(g.Resource, "/")
	for _, slice := range inventory.GPUs[unit.GPU].Slices {
		if slice.UUID == unit.ID {
			return domain + "/mig-" + gpu.ProfileName(slice.Profile)
		}
	}
	return g.Resource
}
