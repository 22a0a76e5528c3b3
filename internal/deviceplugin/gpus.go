package deviceplugin

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// listener hears of the node's GPUs, and lists them for the kubelet.
type listener struct {
	client  *gpufeed.Client
	source  *kubelet.GPUs
	pods    *nodeapi.Pods // nil where no controller decides
	changed func()        // is set before anything runs
}

func newListener(cfg config.DevicePlugin, log logr.Logger) (*listener, error) {
	l := &listener{}
	if err := l.watchPods(cfg); err != nil {
		return nil, err
	}
	changed := func() { l.changed() }
	l.client = gpufeed.NewClient(gpufeed.Options{Socket: cfg.GPUSocket, Patience: gpufeed.Patience, Changed: changed, Log: log})
	l.source = kubelet.NewGPUs(kubelet.GPUOptions{
		Latest: l.client.Latest, Resource: cfg.GPUResource, Shares: cfg.GPUShares,
		HandOver: kubelet.HandOver{CDIKind: cfg.CDIKind, MPSDir: cfg.GPUMPSDir}, Changed: changed, Now: time.Now,
	})
	if l.pods != nil {
		l.source.Decider = kubelet.NewDecider(l.pods, cfg.KubeletDir, log)
	}
	return l, nil
}

// watchPods sets l.pods where a controller decides which GPUs pods get.
func (l *listener) watchPods(cfg config.DevicePlugin) error {
	if !cfg.DecidedGPUs() {
		return nil
	}
	client, err := nodeapi.NewClient(cfg.Kubeconfig)
	if err != nil {
		return err
	}
	l.pods, err = nodeapi.NewPods(client, cfg.NodeName, nodeapi.Handlers{})
	return err
}

// parts are what has to run.
func (l *listener) parts() []func(context.Context) error {
	if l.pods == nil {
		return []func(context.Context) error{l.client.Run}
	}
	return []func(context.Context) error{l.client.Run, l.pods.Run}
}

// checks say when it is ready.
func (l *listener) checks() []telemetry.Check {
	all := []telemetry.Check{{Name: "GPUs", Ready: l.client.Ready}}
	if l.pods == nil {
		return all
	}
	return append(all, telemetry.Check{Name: "pods of this node", Ready: func() error {
		if !l.pods.HasSynced() {
			return errors.New("the API server has not listed them yet")
		}
		return nil
	}})
}
