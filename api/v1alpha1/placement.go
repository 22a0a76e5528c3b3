package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// PlacementVersion is the only version of the annotation numalet.dev/placement that this
// release writes and reads.
const PlacementVersion = 1

// Placement is the controller's decision for the containers of a pod: how many CPUs of each
// NUMA node each of them gets, and which GPUs. It is the value of the annotation
// numalet.dev/placement:
//
//	{"version":1,"containers":{"main":{"cpus":{"0":2,"1":2},"gpus":["GPU-5a…"]}}}
//
// A later release may add fields. This release ignores fields that it does not know. If a new
// field must not be ignored, the placement also has the field "requires", which names the new
// feature. This release then refuses the placement.
//
// +kubebuilder:object:generate=false
type Placement struct {
	Version int `json:"version"`
	// Containers has the CPUs and GPUs of each container, by the name of the container.
	// Containers with neither exclusive CPUs nor GPUs are left out.
	Containers map[string]ContainerPlacement `json:"containers"`
}

// ContainerPlacement is the CPUs and GPUs of one container.
//
// +kubebuilder:object:generate=false
type ContainerPlacement struct {
	CPUs map[topology.NodeID]int `json:"cpus,omitempty"` // number of exclusive CPUs per NUMA node, each above 0
	GPUs []string                `json:"gpus,omitempty"` // IDs of GPUs, each listed once
}

// FormatPlacement returns the value of the annotation numalet.dev/placement. Equal
// placements have equal values.
func FormatPlacement(containers map[string]ContainerPlacement) (string, error) {
	text, err := json.Marshal(Placement{Version: PlacementVersion, Containers: containers})
	if err != nil {
		return "", fmt.Errorf("encode placement: %w", err)
	}
	return string(text), nil
}

// ErrNewerPlacement means that a controller of a later release made the placement, and
// that this release cannot apply it.
var ErrNewerPlacement = errors.New("it needs a later release of Numalet than this one")

// ParsePlacement parses the value of the annotation numalet.dev/placement. It ignores
// unknown fields, so that the controller can be upgraded before the nodes. If it refused
// unknown fields, a controller that writes a new field could start no pod on a node that
// is one release older. The error wraps ErrNewerPlacement if the version is newer than
// PlacementVersion. It also wraps ErrNewerPlacement if the field "requires" is not empty,
// because this release knows none of the features that this field can list.
func ParsePlacement(text string) (Placement, error) {
	p, err := decodePlacement([]byte(text))
	if err == nil {
		err = p.validate()
	}
	if err != nil {
		return Placement{}, fmt.Errorf("read placement: %w, in %s", err, text)
	}
	return p, nil
}

// placementHeader has the fields that all versions of the annotation have.
type placementHeader struct {
	Version  *int     `json:"version"`
	Requires []string `json:"requires"` // names of features that a reader must know to apply the placement
}

// decodePlacement checks the version and the required features before it decodes the
// other fields, because these may have other types in other versions.
func decodePlacement(text []byte) (p Placement, err error) {
	var h placementHeader
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &h); err != nil {
		return p, err
	}
	switch {
	case h.Version == nil:
		return p, fmt.Errorf("it has no version; version %d is read here", PlacementVersion)
	case *h.Version < PlacementVersion:
		return p, fmt.Errorf("version %d is unknown here, where version %d is read", *h.Version, PlacementVersion)
	case *h.Version > PlacementVersion:
		return p, fmt.Errorf("%w: version %d, where version %d is read", ErrNewerPlacement, *h.Version, PlacementVersion)
	case len(h.Requires) > 0:
		return p, fmt.Errorf("%w: it requires %s", ErrNewerPlacement, strings.Join(h.Requires, ", "))
	}
	strict, err := kjson.UnmarshalStrict(text, &p, kjson.DisallowDuplicateFields)
	return p, errors.Join(append(strict, err)...)
}

// validate checks the values of all containers.
func (p Placement) validate() error {
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		if err := p.Containers[name].validate(); err != nil {
			return fmt.Errorf("container %q: %w", name, err)
		}
	}
	return nil
}

func (c ContainerPlacement) validate() error {
	for _, id := range slices.Sorted(maps.Keys(c.CPUs)) {
		if count := c.CPUs[id]; id < 0 || count <= 0 {
			return fmt.Errorf("it has %d CPUs on NUMA node %d; counts are 1 or more, and NUMA nodes 0 or more", count, id)
		}
	}
	seen := map[string]bool{}
	for _, id := range c.GPUs {
		if id == "" || seen[id] {
			return fmt.Errorf("it has the GPU %q twice or without a name; each id stands once", id)
		}
		seen[id] = true
	}
	return nil
}

// CPUs returns the total number of exclusive CPUs of all containers.
func (p Placement) CPUs() (sum int) {
	for _, container := range p.Containers {
		sum += container.cpus()
	}
	return sum
}

// GPUs returns the GPUs of all containers without duplicates, in the order of the
// containers' names.
func (p Placement) GPUs() (ids []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		for _, id := range p.Containers[name].GPUs {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// SharesGPUs reports whether two containers have a GPU in common. Containers that never
// run at the same time, such as an init container and an app container, can have the same
// GPU.
func (p Placement) SharesGPUs() bool {
	sum := 0
	for _, container := range p.Containers {
		sum += len(container.GPUs)
	}
	return sum > len(p.GPUs())
}

func (c ContainerPlacement) cpus() (sum int) {
	for _, count := range c.CPUs {
		sum += count
	}
	return sum
}

// ReadPlacement parses the placement of a pod and compares it with the pod's request. The
// error is a *Refusal. Its reason is PlacementNewer if ParsePlacement returns
// ErrNewerPlacement, and PlacementInvalid otherwise. A placement is invalid if it cannot
// be parsed, or if it names a container that the pod does not have. It is also invalid if
// it gives exclusive CPUs to a container that requests none, or if its number of CPUs
// differs from the request. If the container has limits per NUMA node, the placement must give
// exactly these numbers of CPUs. ReadPlacement does not check whether the CPUs follow the pod's
// CPU policy: the controller and the agent check that.
func ReadPlacement(pod *corev1.Pod, request CPURequest) (Placement, error) {
	p, err := ParsePlacement(pod.Annotations[AnnotationPlacement])
	if errors.Is(err, ErrNewerPlacement) {
		return Placement{}, refuse(PlacementNewer, "", "this node cannot apply the placement in the annotation %s: %s; upgrade Numalet on this node", AnnotationPlacement, err)
	}
	if err != nil {
		return Placement{}, invalidPlacement("", "%s", err)
	}
	known := containerNames(pod)
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		if !slices.Contains(known, name) {
			return Placement{}, invalidPlacement(name, "it names container %q, but the pod's are %s", name, strings.Join(known, ", "))
		}
		if _, exclusive := request.Exclusive(name); !exclusive && len(p.Containers[name].CPUs) > 0 {
			return Placement{}, invalidPlacement(name, "it gives CPUs to container %q, which shares", name)
		}
	}
	for _, container := range request.Containers {
		if err := compareCounts(container, p.Containers[container.Name]); err != nil {
			return Placement{}, err
		}
	}
	return p, nil
}

// compareCounts returns an error if the numbers of CPUs in a placement differ from the
// container's request.
func compareCounts(container podspec.Container, p ContainerPlacement) error {
	switch sum, counts := p.cpus(), p.CPUs; {
	case sum != container.CPUs:
		return invalidPlacement(container.Name, "it gives %d CPUs to container %q, which asks for %d", sum, container.Name, container.CPUs)
	case container.PerNode != nil && !maps.Equal(container.PerNode, counts):
		return invalidPlacement(container.Name, "it gives CPUs by NUMA node %v to container %q, whose limits say %v", counts, container.Name, container.PerNode)
	}
	return nil
}

// Sized returns the request with the numbers of CPUs that the placement gives the
// containers. If the pod was resized after the placement was made, its request has other
// numbers than the placement, and ReadPlacement would refuse the placement. So for such a pod,
// callers pass ReadPlacement the result of Sized. ReadPlacement then still checks the names of the
// containers, and which of them have exclusive CPUs. Containers with limits per NUMA node cannot be
// resized, and keep their numbers.
func (r CPURequest) Sized(p Placement) CPURequest {
	r.Containers = slices.Clone(r.Containers)
	for i, container := range r.Containers {
		if n := p.Containers[container.Name].cpus(); n > 0 && container.PerNode == nil {
			r.Containers[i].CPUs = n
		}
	}
	return r
}

// At returns the request with the numbers of CPUs per NUMA node that the placement gives
// the containers.
func (r CPURequest) At(p Placement) CPURequest {
	r.Containers = slices.Clone(r.Containers)
	for i, container := range r.Containers {
		r.Containers[i].PerNode = p.Containers[container.Name].CPUs
	}
	return r
}

func invalidPlacement(container, format string, args ...any) *Refusal {
	return refuse(PlacementInvalid, container, "the placement in the annotation %s is not one of this pod: %s", AnnotationPlacement, fmt.Sprintf(format, args...))
}

// Rejection returns the condition that says that an agent ended the pod. An agent sets
// this condition if its node cannot apply the placement of the pod. Rejection returns
// false if the pod has no such condition. The agent also sets the phase of the pod to
// Failed. The kubelet may overwrite this phase, but not the condition.
func Rejection(pod *corev1.Pod) (corev1.PodCondition, bool) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue && condition.Reason == ReasonPlacementRejected {
			return condition, true
		}
	}
	return corev1.PodCondition{}, false
}
