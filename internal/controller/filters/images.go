package filters

import (
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	fwk "k8s.io/kube-scheduler/framework"
)

// images counts on how many nodes each image is. It does not store which nodes these are: each node
// lists its images, and only a few nodes are rated for a pod.
type images struct {
	some atomic.Bool // whether there are images
	mu   struct {
		sync.RWMutex
		byName map[string]fwk.ImageStateSummary
	}
}

// change replaces a node's images. A nil node does not exist. If nodes report different sizes of an
// image, the last one counts.
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

// count adds (1) or removes (-1) the images of a node. The caller holds i.mu.
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

// worthless is the size of images, scaled by the share of nodes that have them, up to which
// the plugin ImageLocality gives no score.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/plugins/imagelocality/image_locality.go, minThreshold.
const worthless = 23 << 20

// matter returns the images of a pod that some node has. It returns nil if the plugin ImageLocality
// cannot prefer a node for them in a cluster with this number of nodes.
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

// imagesFor yields the full names of a pod's images, in the form of a node's status.
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

// tagged returns an image's name with its tag, which is "latest" if there is none.
func tagged(image string) string {
	if strings.LastIndexByte(image, ':') > strings.LastIndexByte(image, '/') {
		return image
	}
	return image + ":latest"
}

// withImages is a node with those of its images that matter for a pod.
type withImages struct {
	*nodeInfo
	states map[string]*fwk.ImageStateSummary
}

// GetImageStates returns the images. The node info itself cannot have them: NumNodes changes when
// other nodes change, and an info is immutable.
func (n withImages) GetImageStates() map[string]*fwk.ImageStateSummary { return n.states }

// imaged returns a node with those of the given images that it has.
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
