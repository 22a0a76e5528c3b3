package kubelet

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// allocate gives devices to a container, all or none.
func (g *GPUs) allocate(resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if g.conflicts(id) {
			return nil, g.refuse(resource, id)
		}
	}
	for _, id := range ids {
		g.mu.given[id] = g.Now()
	}
	g.Changed()
	ids = slices.SortedFunc(slices.Values(ids), compareIDs)
	response := g.HandOver.response(g.uuids(ids))
	response.Annotations = map[string]string{v1alpha1.AllocatedGPUs(resource): strings.Join(ids, ",")}
	if resource == g.shared() && g.HandOver.MPSDir != "" {
		g.HandOver.limit(response, g.portions(ids))
	}
	return response, nil
}

// refuse says who has the card. The kubelet fails the pod with it, and its owner
// makes a new one.
func (g *GPUs) refuse(resource, id string) error {
	other := g.shared()
	if isShare(id) {
		other = g.Resource
	}
	return status.Errorf(codes.FailedPrecondition,
		"allocate %s of %s: another container got the card as %s a moment ago, and a card is never given whole and in shares at once; a new pod gets another card, or waits",
		id, resource, other)
}

// uuids returns the cards and slices of devices, each once, in the driver's
// order, by which programs in the container number them.
func (g *GPUs) uuids(ids []string) []string {
	v := g.Latest()
	var uuids []string
	for _, id := range ids {
		if uuid := v1alpha1.GPUOf(id); !slices.Contains(uuids, uuid) {
			uuids = append(uuids, uuid)
		}
	}
	place := func(uuid string) int { position, _ := v.Find(uuid); return position }
	slices.SortStableFunc(uuids, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return uuids
}

// portion is how much of one card a container has.
type portion struct {
	shares, of  int
	memoryBytes uint64 // of the whole card
}

// portions returns that of each card, in the order of uuids.
func (g *GPUs) portions(ids []string) []portion {
	v := g.Latest()
	var all []portion
	for _, uuid := range g.uuids(ids) {
		p := portion{of: g.Shares}
		for _, id := range ids {
			if v1alpha1.GPUOf(id) == uuid {
				p.shares++
			}
		}
		if position, found := v.Find(uuid); found {
			p.memoryBytes = v.Cards[position].MemoryBytes
		}
		all = append(all, p)
	}
	return all
}
