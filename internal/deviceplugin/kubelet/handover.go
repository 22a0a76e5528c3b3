package kubelet

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// HandOver is how a container gets its GPUs.
type HandOver struct {
	// CDIKind, such as "numalet.dev/gpu", names CDI devices "kind=UUID", as
	// numalet-nvml or nvidia-ctk writes them into its specification. Empty means the
	// environment variable that NVIDIA's container runtime reads.
	// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
	CDIKind string
	// MPSDir is the host's directory with the pipes (pipe) and the memory (shm) of
	// the MPS control daemon that serves shares; empty means that shares take
	// turns, with nothing limited.
	MPSDir string
}

// Where MPS looks for its daemon in a container.
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

// limit lets the container have its portion of each card: of the memory by card,
// and of the threads the least, for MPS has one number for all cards.
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
