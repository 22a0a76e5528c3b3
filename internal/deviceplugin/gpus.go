package deviceplugin

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// gpuPublisher receives the node's GPUs from numalet-nvml and lists them for the
// kubelet.
type gpuPublisher struct {
	client  *gpufeed.Client
	source  *kubelet.GPUs
	pods    *nodeapi.Pods // nil if nothing depends on them
	changed func()        // set before anything runs
}

func newGPUPublisher(cfg config.DevicePlugin, log logr.Logger) (*gpuPublisher, error) {
	g := &gpuPublisher{}
	if err := g.watchPods(cfg); err != nil {
		return nil, err
	}
	changed := func() { g.changed() }
	g.client = gpufeed.NewClient(gpufeed.Options{Socket: cfg.GPUSocket, Timeout: gpufeed.DefaultTimeout, Changed: changed, Log: log})
	g.source = kubelet.NewGPUs(kubelet.GPUOptions{
		Latest: g.client.Latest, Resource: cfg.GPUResource, Shares: cfg.GPUShares,
		HandOver: kubelet.HandOver{CDIKind: cfg.CDIKind, MPSDir: cfg.GPUMPSDir}, Changed: changed, Now: time.Now,
	})
	if g.pods != nil {
		g.source.Pods = func() ([]*corev1.Pod, bool) { return g.pods.All(), g.pods.HasSynced() }
	}
	if cfg.DecidedGPUs() {
		g.source.Decider = kubelet.NewDecider(g.pods, cfg.KubeletDir, log)
	}
	return g, nil
}

// watchPods sets g.pods if a controller decides on the GPUs of pods, or if GPUs are
// offered as a whole and in shares: a card that an init container has is in use until its
// pod has ended.
func (g *gpuPublisher) watchPods(cfg config.DevicePlugin) error {
	if !cfg.WatchesPods() {
		return nil
	}
	client, err := nodeapi.NewClient(cfg.Kubeconfig)
	if err != nil {
		return err
	}
	g.pods, err = nodeapi.NewPods(client, cfg.NodeName, nodeapi.Handlers{})
	return err
}

// parts returns the functions to run.
func (g *gpuPublisher) parts() []func(context.Context) error {
	if g.pods == nil {
		return []func(context.Context) error{g.client.Run}
	}
	return []func(context.Context) error{g.client.Run, g.pods.Run}
}

// checks returns the readiness checks.
func (g *gpuPublisher) checks() []telemetry.Check {
	all := []telemetry.Check{{Name: "GPUs", Ready: g.client.Ready}}
	if g.pods == nil {
		return all
	}
	return append(all, telemetry.Check{Name: "pods of this node", Ready: func() error {
		if !g.pods.HasSynced() {
			return errors.New("the API server has not listed the pods of this node yet")
		}
		return nil
	}})
}
