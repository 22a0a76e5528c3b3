package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxShares is the largest number of shares of a GPU. It is the largest number of clients that
// NVIDIA's MPS serves per GPU. The limit also holds for GPUs that are shared without MPS. Source:
// https://docs.nvidia.com/deploy/mps/index.html
const maxShares = 60

// minRefresh is the shortest refresh interval that is allowed. With a shorter
// interval, a program would be busy reading the state of the machine all the time.
const minRefresh = 100 * time.Millisecond

// minForeignTimeWindow is the shortest value allowed for the setting ForeignTimeWindow. The
// setting is the length of the window over which the agent adds up the time for which a
// container's exclusive CPUs ran something other than the container. The agent measures this
// time every 10 s, so even the shortest window has several measurements.
const minForeignTimeWindow = time.Minute

func (s Shared) validate() error {
	errs := []error{
		absolute("kubelet-dir", s.KubeletDir),
		absolute("kubelet-config", s.KubeletConfig),
		absolute("sysfs-root", s.SysfsRoot),
		s.Process.validate(),
	}
	if s.KubeletConfigDir != "" {
		errs = append(errs, absolute("kubelet-config-dir", s.KubeletConfigDir))
	}
	if s.GPUSocket != "" {
		errs = append(errs, absolute("gpu-socket", s.GPUSocket))
	}
	return errors.Join(errs...)
}

func (p Process) validate() error {
	errs := []error{listenable("health-addr", p.HealthAddr)}
	if p.Verbosity < 0 {
		errs = append(errs, fmt.Errorf("verbosity %d is negative: 0 logs least", p.Verbosity))
	}
	return errors.Join(errs...)
}

func (a Agent) validate() error {
	errs := []error{
		a.Shared.validate(),
		absolute("nri-socket", a.NRISocket),
		absolute("checkpoint", a.Checkpoint),
		absolute("cgroup-root", a.CgroupRoot),
		absolute("host-proc", a.HostProc),
	}
	if a.MetricsAddr != "" {
		errs = append(errs, listenable("metrics-addr", a.MetricsAddr), webAddress("device-plugin", a.DevicePlugin))
		if a.MetricsAddr == a.HealthAddr {
			errs = append(errs, fmt.Errorf("metrics-addr and health-addr are both %s: the kubelet, which sends the health checks, has no token, so they need a server of their own", a.HealthAddr))
		}
	}
	if a.ForeignTimeThreshold < 0 || a.ForeignTimeThreshold > 100 {
		errs = append(errs, fmt.Errorf("foreign-time-threshold %g is not a percentage from 0 to 100", a.ForeignTimeThreshold))
	}
	if a.ForeignTimeWindow < minForeignTimeWindow {
		errs = append(errs, fmt.Errorf("foreign-time-window %s is below %s", a.ForeignTimeWindow, minForeignTimeWindow))
	}
	if a.NodeName == "" {
		errs = append(errs, errNameless)
	}
	return errors.Join(errs...)
}

// errNameless is the error if a program that needs the name of its node does not
// know it.
var errNameless = errors.New("node-name is empty: give --node-name, or set NODE_NAME from the pod's spec.nodeName")

func (d DevicePlugin) validate() error {
	errs := []error{d.Shared.validate()}
	if d.Refresh < minRefresh {
		errs = append(errs, fmt.Errorf("refresh %s is below %s", d.Refresh, minRefresh))
	}
	errs = append(errs, qualified("gpu-resource", d.GPUResource))
	if d.CDIKind != "" {
		errs = append(errs, qualified("gpu-cdi-kind", d.CDIKind))
	}
	if d.GPUShares < 0 || d.GPUShares > maxShares {
		errs = append(errs, fmt.Errorf("gpu-shares is %d: must be from 0 to %d", d.GPUShares, maxShares))
	}
	if d.GPUMPSDir != "" {
		errs = append(errs, absolute("gpu-mps-dir", d.GPUMPSDir))
	}
	if d.WatchesPods() && d.NodeName == "" {
		errs = append(errs, errNameless)
	}
	return errors.Join(errs...)
}

func qualified(setting, text string) error {
	if domain, name, ok := strings.Cut(text, "/"); !ok || domain == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%s %q: want domain/name, as nvidia.com/gpu", setting, text)
	}
	return nil
}

func absolute(setting, path string) error {
	if filepath.IsAbs(path) {
		return nil
	}
	return fmt.Errorf("%s %q is not an absolute path", setting, path)
}

// webAddress returns an error unless the text is a URL with the scheme http and a host.
func webAddress(setting, text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("%s %q is not a URL such as http://127.0.0.1:8123", setting, text)
	}
	return nil
}

func listenable(setting, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %q is not host:port: %w", setting, addr, err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s %q: port %q is not a number from 0 to 65535", setting, addr, port)
	}
	return nil
}
