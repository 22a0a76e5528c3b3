package filters

import (
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	fwk "k8s.io/kube-scheduler/framework"
)

// images counts how many nodes have each container image. It does not store which nodes have an
// image: each Node object lists its own images, and only a few nodes are rated for a pod.
type images struct {
	some atomic.Bool // whether any node has images
	mu   struct {
		sync.RWMutex
		byName map[string]fwk.ImageStateSummary
	}
}

// change updates the counts after a node has changed from the version `before` to the version
// `now`. `before` is nil for a new node, and `now` is nil for a removed node. If nodes report
// different sizes of an image, the node that was added, changed or removed last decides the size.
func (i *images) change(before, now *v1.Node) {
	was, is := imagesOf(before), imagesOf(now)
	if len(was)+len(is) == 0 || equality.Semantic.DeepEqual(was, is) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mu.byName == nil {
		i.mu.byName = map[string]fwk.ImageStateSummary{}
	}
	i.count(was, -1)
	i.count(is, 1)
	i.some.Store(len(i.mu.byName) > 0)
}

func imagesOf(node *v1.Node) []v1.ContainerImage {
	if node == nil {
		return nil
	}
	return node.Status.Images
}

// count adds (sign 1) or removes (sign -1) the images of a node. The caller holds i.mu.
func (i *images) count(all []v1.ContainerImage, sign int) {
	for _, image := range all {
		for _, name := range image.Names {
			known := i.mu.byName[name]
			if known.NumNodes += sign; known.NumNodes == 0 {
				delete(i.mu.byName, name)
				continue
			}
			known.Size = image.SizeBytes
			i.mu.byName[name] = known
		}
	}
}

// worthless is a size in bytes. If the images that a node has for a pod have at most this size in
// total, the plugin ImageLocality gives the node the score 0. In this total, the size of each image
// is multiplied by the share of the cluster's nodes that have the image.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/plugins/imagelocality/image_locality.go,
// minThreshold.
const worthless = 23 << 20

// matter returns those images of a pod that are on at least one node. It returns nil if these
// images cannot make the plugin ImageLocality prefer any node. The parameter `nodes` is the number
// of nodes in the cluster.
func (i *images) matter(pod *v1.Pod, nodes int) map[string]fwk.ImageStateSummary {
	if !i.some.Load() {
		return nil
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	var found map[string]fwk.ImageStateSummary
	scaled, differ := 0.0, false
	for name := range imagesFor(pod) {
		known, ok := i.mu.byName[name]
		if !ok {
			continue
		}
		if found == nil {
			found = map[string]fwk.ImageStateSummary{}
		}
		found[name] = known
		scaled += float64(known.Size) * float64(known.NumNodes) / float64(max(1, nodes))
		differ = differ || known.NumNodes < nodes
	}
	if !differ || scaled <= worthless {
		return nil
	}
	return found
}

// imagesFor yields the full names of the images that a pod uses, in the form in which a node's
// status lists them.
func imagesFor(pod *v1.Pod) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				if !yield(tagged(containers[i].Image)) {
					return
				}
			}
		}
		for i := range pod.Spec.Volumes {
			if image := pod.Spec.Volumes[i].Image; image != nil && !yield(tagged(image.Reference)) {
				return
			}
		}
	}
}

// tagged returns the name of an image with its tag. If the given name has no tag, tagged adds the
// tag "latest".
func tagged(image string) string {
	if strings.LastIndexByte(image, ':') > strings.LastIndexByte(image, '/') {
		return image
	}
	return image + ":latest"
}

// withImages is a node that shows the plugin ImageLocality only those of its images that matter
// for a pod.
type withImages struct {
	*nodeInfo
	states map[string]*fwk.ImageStateSummary
}

// GetImageStates returns the images of the node that matter for the pod. They are not stored in
// the nodeInfo, because a nodeInfo is immutable, and the field NumNodes of an image changes when
// other nodes change.
func (n withImages) GetImageStates() map[string]*fwk.ImageStateSummary { return n.states }

// imaged returns a view of a node. In the view, the node has only those of its images whose names
// are keys of the map.
func imaged(node *nodeInfo, known map[string]fwk.ImageStateSummary) fwk.NodeInfo {
	states := map[string]*fwk.ImageStateSummary{}
	for _, image := range node.Node().Status.Images {
		for _, name := range image.Names {
			if state, ok := known[name]; ok {
				states[name] = &state
			}
		}
	}
	return withImages{node, states}
}
