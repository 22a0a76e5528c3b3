package nri

import (
	"context"
	"strings"
	"testing"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
	"github.com/go-logr/logr/testr"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// rival is another NRI plugin, which pins every container to CPU 7.
type rival struct{}

func (rival) CreateContainer(context.Context, *api.PodSandbox, *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	adjust := &api.ContainerAdjustment{}
	adjust.SetLinuxCPUSetCPUs("7")
	return adjust, nil, nil
}

// TestRival checks that the container runtime creates no container if a second NRI plugin also
// sets cpusets. The error must name both plugins. docs/tasks/request-cpus.md quotes the error.
func TestRival(t *testing.T) {
	socket, n := socketIn(t), &recorder{decision: workload.Decision{CPUs: cpuset.Of(1)}}
	runtime := newRuntime(t, socket)
	runtime.synchronized(t, connect(t, socket, n))
	other, err := stub.New(rival{}, stub.WithPluginName("rival"), stub.WithPluginIdx("10"),
		stub.WithSocketPath(socket), stub.WithLogger(logger{testr.New(t)}), stub.WithOnClose(func() {}))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Stop)
	await(t, "an error that names both plugins", func() bool {
		_, err := runtime.CreateContainer(context.Background(), &adaptation.CreateContainerRequest{Pod: somePod(), Container: someContainer()})
		return err != nil && strings.Contains(err.Error(), `plugins "90-numalet" and "10-rival" both tried to set CPUSetCPUs`)
	})
}
