package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/numalet/numalet/pkg/containerdconf"
)

// Containerd is the configuration of numalet-containerd (cmd/containerd).
type Containerd struct {
	Process
	Undo       bool
	HostRoot   string // the node's root directory
	Unit       string // the systemd unit of containerd
	CRISocket  string // containerd's socket, as a path in the node's file system
	Agent      string // URL of the agent of this node
	StartFirst string // label selector of pods that must be able to start while the agent does not run; static pods must always be able to do so
	Timeout    time.Duration
	NodeName   string
	PodUID     string
	Kubeconfig string // name of the kubeconfig file; "" for the cluster that this pod runs in
}

func defaultContainerd() Containerd {
	return Containerd{
		Process:    Process{HealthAddr: "127.0.0.1:8128", LogFormat: Text},
		HostRoot:   "/host",
		Unit:       "containerd.service",
		CRISocket:  "/run/containerd/containerd.sock",
		Agent:      "http://127.0.0.1:8123",
		StartFirst: "k8s-app in (kube-proxy,cilium)",
		Timeout:    3 * time.Minute,
	}
}

func (c *Containerd) bind(settings *pflag.FlagSet) {
	settings.BoolVar(&c.Undo, "undo", c.Undo, "Undo the changes that an earlier run of numalet-containerd made to containerd's configuration, instead of making them.")
	settings.StringVar(&c.HostRoot, "host-root", c.HostRoot, "`Directory` at which the node's root directory is mounted.")
	settings.StringVar(&c.Unit, "containerd-unit", c.Unit, "The `name` of containerd's unit in systemd.")
	settings.StringVar(&c.CRISocket, "cri-socket", c.CRISocket, "The `socket` at which containerd serves the kubelet, as a path in the node's file system.")
	settings.StringVar(&c.Agent, "agent", c.Agent, "Address (`URL`) of the agent of this node (its --health-addr).")
	settings.StringVar(&c.StartFirst, "start-first", c.StartFirst, "Label `selector` of pods of this node that must start before the agent. These pods and static pods need the annotation "+containerdconf.Annotation+": \"true\", with which containerd starts them without the agent. While one of these pods lacks the annotation, containerd's configuration is not changed.")
	settings.DurationVar(&c.Timeout, "restart-timeout", c.Timeout, "How long containerd and the agent may take to work again after containerd's restart, as a `duration`. After that, the old configuration is restored.")
	settings.StringVar(&c.NodeName, "node-name", c.NodeName, "The `name` of this node in the cluster.")
	settings.StringVar(&c.PodUID, "pod-uid", c.PodUID, "The `UID` of the pod that this process runs in. If a change of containerd's configuration failed, this pod does not try again. If somebody edited the changed files, it tries again only after a reboot. Delete the pod to try again: the pod that replaces it has another UID.")
	bindKubeconfig(settings, &c.Kubeconfig)
	renameEnv(settings, "node-name", "NODE_NAME")
	renameEnv(settings, "pod-uid", "POD_UID")
	c.Process.bind(settings)
}

// minRestartTimeout is the smallest timeout that is allowed for a restart of
// containerd. An idle machine restarts containerd within this time.
const minRestartTimeout = 10 * time.Second

func (c Containerd) validate() error {
	errs := []error{c.Process.validate(), absolute("host-root", c.HostRoot), absolute("cri-socket", c.CRISocket), webAddress("agent", c.Agent)}
	if _, err := labels.Parse(c.StartFirst); err != nil {
		errs = append(errs, fmt.Errorf("start-first %q is not a label selector: %w", c.StartFirst, err))
	}
	if c.Timeout < minRestartTimeout {
		errs = append(errs, fmt.Errorf("restart-timeout %s is below %s", c.Timeout, minRestartTimeout))
	}
	if c.Unit == "" {
		errs = append(errs, errors.New("containerd-unit is empty"))
	}
	if c.NodeName == "" {
		errs = append(errs, errNameless)
	}
	return errors.Join(errs...)
}
