package kubelet

import (
	"sync"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

// givenFor is how long what Allocate gave is held to be held although the
// kubelet does not list it: a pod is listed once it is admitted.
const givenFor = 30 * time.Second

// GPUOptions is what GPUs works with.
type GPUOptions struct {
	Latest   func() *gpu.Inventory
	Resource string // of whole cards, such as "nvidia.com/gpu"
	Shares   int    // how many parts each card is also offered in; 0 for none
	HandOver HandOver
	Decider  *Decider // nil where no controller decides
	Changed  func()   // is called when Allocate changed what can be given
	Now      func() time.Time
}

// GPUs is the Source of a node's GPUs: whole cards as Resource, their shares as
// Resource.shared, and MIG slices by their profiles, nvidia.com/mig-1g.10gb.
// Devices have the ids of NVIDIA's own plugin, which monitoring knows: UUIDs, and
// "UUID::0" for the first share of a card.
//
// Cards are offered whole and in shares at once, and a card that was given one
// way is unhealthy the other way until it is back. The kubelet may be a moment
// behind: choose leaves out such cards, and allocate refuses them.
type GPUs struct {
	GPUOptions

	mu struct {
		sync.Mutex
		listed map[string]bool      // resources that there ever were
		held   map[string]bool      // device ids, as the kubelet told last
		given  map[string]time.Time // device ids, by when Allocate gave them
	}
}

// NewGPUs returns a Source that has listed nothing yet.
func NewGPUs(o GPUOptions) *GPUs {
	g := &GPUs{GPUOptions: o}
	g.mu.listed, g.mu.given = map[string]bool{}, map[string]time.Time{}
	return g
}

func (g *GPUs) list(s seen) (map[string][]*pluginapi.Device, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learn(s)
	devices := map[string][]*pluginapi.Device{}
	for resource := range g.mu.listed {
		devices[resource] = nil
	}
	v := g.Latest()
	for _, u := range v.Units() {
		resource := g.resource(v, u)
		devices[resource] = append(devices[resource], g.device(v, u, u.ID, g.isShared(u.ID)))
		for i := range g.sharesOf(u) {
			devices[g.shared()] = append(devices[g.shared()], g.device(v, u, share(u.ID, i), g.isTaken(u.ID)))
		}
	}
	for resource := range devices {
		g.mu.listed[resource] = true
	}
	return devices, nil
}

// learn takes over what the kubelet tells of held devices. Callers hold the lock.
func (g *GPUs) learn(s seen) {
	g.mu.held = map[string]bool{}
	for resource := range g.mu.listed {
		for id := range s.held(resource) {
			g.mu.held[id] = true
		}
	}
	for id, at := range g.mu.given {
		if g.Now().Sub(at) >= givenFor {
			delete(g.mu.given, id)
		}
	}
}

// isTaken reports whether a container has a device. Callers hold the lock.
func (g *GPUs) isTaken(id string) bool {
	_, given := g.mu.given[id]
	return given || g.mu.held[id]
}

// isShared reports whether a container has a share of a card. Callers hold the
// lock.
func (g *GPUs) isShared(card string) bool {
	for i := range g.Shares {
		if g.isTaken(share(card, i)) {
			return true
		}
	}
	return false
}

// device describes a card, share or slice. One that a container has stays healthy
// when nobody watches it any more, for the kubelet admits no container again
// whose device is not; one that is known to be broken does not.
func (g *GPUs) device(v *gpu.Inventory, u gpu.Unit, id string, givenAway bool) *pluginapi.Device {
	healthy := u.Health.State == gpu.Healthy && !givenAway || u.Health.State != gpu.Unhealthy && g.isTaken(id)
	node := v.Cards[u.Card].NUMA
	return newDevice(id, healthy, node, node >= 0 && node <= maxHintNode)
}

func (g *GPUs) ours(_, id string) bool {
	_, found := g.Latest().Find(v1alpha1.GPUOf(id))
	return found
}
