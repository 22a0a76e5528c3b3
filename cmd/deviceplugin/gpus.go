package main

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/config"
	"github.com/numalet/numalet/internal/feed"
	"github.com/numalet/numalet/internal/kubelet"
)

// listener hears of the node's GPUs, and lists them for the kubelet.
type listener struct {
	client  *feed.Client
	source  *kubelet.GPUs
	changed func() // is set before anything runs
}

func newListener(cfg config.DevicePlugin, log logr.Logger) *listener {
	l := &listener{}
	changed := func() { l.changed() }
	l.client = feed.NewClient(feed.Options{Socket: cfg.GPUSocket, Patience: feed.Patience, Changed: changed, Log: log})
	l.source = kubelet.NewGPUs(kubelet.GPUOptions{
		Latest: l.client.Latest, Resource: cfg.GPUResource, Shares: cfg.GPUShares,
		HandOver: kubelet.HandOver{CDIKind: cfg.CDIKind, MPSDir: cfg.GPUMPSDir}, Changed: changed, Now: time.Now,
	})
	return l
}
