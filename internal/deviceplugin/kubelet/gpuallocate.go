package kubelet

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// allocate allocates the devices with these IDs to a container. If one of the devices cannot be
// allocated (conflictError), it allocates none and returns an error.
func (g *GPUs) allocate(resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if g.conflicts(id) {
			return nil, g.conflictError(resource, id)
		}
	}
	for _, id := range ids {
		g.mu.allocated[id] = &allocation{resource: resource, at: g.Now()}
	}
	if g.Shares > 0 { // otherwise no device becomes unhealthy
		g.Changed()
	}
	ids = slices.SortedFunc(slices.Values(ids), compareIDs)
	response := g.HandOver.response(g.uuids(ids))
	response.Annotations = map[string]string{v1alpha1.AllocatedGPUs(resource): strings.Join(ids, ",")}
	if resource == g.sharedResource() && g.HandOver.MPSDir != "" {
		g.HandOver.limit(response, g.portions(ids))
	}
	return response, nil
}

// conflictError returns why a device of a GPU cannot be allocated. A share cannot be allocated
// if its GPU is in a GPU group, or is allocated whole. A whole GPU cannot be allocated if a
// share of it is allocated. No device can be allocated if a container has it under another
// resource name. The kubelet fails the pod with this message. Then the pod's owner, such as a
// Deployment, creates another pod.
func (g *GPUs) conflictError(resource, id string) error {
	other := g.sharedResource()
	switch {
	case g.mu.elsewhere[v1alpha1.GPUOf(id)]:
		return status.Errorf(codes.FailedPrecondition, "allocate %s of %s: a container has the GPU under another resource name; drain the node, or wait until the pod of that container has ended", id, resource)
	case isShare(id) && g.reserved(v1alpha1.GPUOf(id)):
		return status.Errorf(codes.FailedPrecondition, "allocate %s of %s: the GPU is in a GPU group, and such a GPU has no shares; create a new pod, which gets another GPU or waits", id, resource)
	case isShare(id):
		other = g.Resource
	}
	return status.Errorf(codes.FailedPrecondition,
		"allocate %s of %s: the GPU is allocated to another container as %s, and a GPU cannot be allocated as a whole and in shares at the same time; create a new pod, which gets another GPU or waits",
		id, resource, other)
}

// uuids returns the UUIDs of the GPUs and MIG slices to which these devices belong, each once.
// Their order is that of the driver, which is also their order in the container.
func (g *GPUs) uuids(ids []string) []string {
	v := g.Latest()
	var uuids []string
	for _, id := range ids {
		if uuid := v1alpha1.GPUOf(id); !slices.Contains(uuids, uuid) {
			uuids = append(uuids, uuid)
		}
	}
	order := func(uuid string) int { position, _ := v.Find(uuid); return position }
	slices.SortStableFunc(uuids, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	return uuids
}

// portion is the part of one GPU that a container has: a number of shares (the field `shares`), and
// the number of shares into which the GPU is divided (the field `of`).
type portion struct {
	shares, of  int
	memoryBytes uint64 // memory of the whole GPU
}

// portions returns, for each GPU of the given devices, how many shares of the GPU a container gets
// with these devices. The order is that of the GPUs in the result of the method `uuids`.
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
			p.memoryBytes = v.GPUs[position].MemoryBytes
		}
		all = append(all, p)
	}
	return all
}

// HandOver configures how a container gets access to its GPUs.
type HandOver struct {
	// CDIKind is the kind of the devices in the Container Device Interface (CDI), such as
	// "numalet.dev/gpu". The name of a CDI device is "kind=UUID". numalet-nvml or nvidia-ctk writes
	// the CDI specification. If CDIKind is empty, the container instead gets the environment
	// variable NVIDIA_VISIBLE_DEVICES, which NVIDIA's container runtime reads.
	// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
	CDIKind string
	// MPSDir is the directory, on the host, of the control daemon of NVIDIA's Multi-Process Service
	// (MPS), which serves the shares of GPUs. It has the subdirectories pipe and shm. If MPSDir is
	// empty, containers with shares of a GPU take turns on it (time-slicing), and nothing limits
	// their memory.
	MPSDir string
}

// These are the paths in a container at which programs that use NVIDIA's Multi-Process Service
// (MPS) look for its control daemon.
// https://docs.nvidia.com/deploy/mps/appendix-tools-and-interface-reference.html
const (
	mpsPipe = "/tmp/nvidia-mps"
	mpsShm  = "/dev/shm"
)

func (h HandOver) response(uuids []string) *pluginapi.ContainerAllocateResponse {
	response := &pluginapi.ContainerAllocateResponse{}
	if h.CDIKind == "" {
		response.Envs = map[string]string{v1alpha1.EnvGPUs: strings.Join(uuids, ",")}
		return response
	}
	for _, uuid := range uuids {
		response.CdiDevices = append(response.CdiDevices, &pluginapi.CDIDevice{Name: h.CDIKind + "=" + uuid})
	}
	return response
}

// limit limits the container to its portion of each GPU, with environment variables of NVIDIA's
// Multi-Process Service (MPS). The memory limit is set per GPU. MPS has only one limit of the
// percentage of threads for all GPUs, so the method sets this percentage to that of the smallest
// portion.
func (h HandOver) limit(r *pluginapi.ContainerAllocateResponse, portions []portion) {
	percent, memory := 100, []string{}
	for i, p := range portions {
		percent = min(percent, 100*p.shares/p.of)
		memory = append(memory, fmt.Sprintf("%d=%dM", i, p.memoryBytes>>20*uint64(p.shares)/uint64(p.of)))
	}
	if r.Envs == nil {
		r.Envs = map[string]string{}
	}
	r.Envs["CUDA_MPS_PIPE_DIRECTORY"] = mpsPipe
	r.Envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = strconv.Itoa(percent)
	r.Envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = strings.Join(memory, ",")
	r.Mounts = []*pluginapi.Mount{
		{HostPath: filepath.Join(h.MPSDir, "pipe"), ContainerPath: mpsPipe},
		{HostPath: filepath.Join(h.MPSDir, "shm"), ContainerPath: mpsShm},
	}
}
